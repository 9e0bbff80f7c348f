"""Loads all that the tests of `models` wrote for it, each folder by the script for what it holds; see run_models.sh.

    RETORT_INTEROP_OUT=/absolute/DIR cargo test -p models
    python tests/interop/load_folders.py DIR

A folder is `NAME/` with expected.json and one of the items below. That there is one of every architecture is checked too.
"""

import sys
from pathlib import Path

import load_gguf
import load_merged
import load_peft
import load_sentence_transformer

DECODERS = {"codegen", "gpt2", "gpt_bigcode", "llama", "qwen2", "starcoder2", "t5"}
KINDS = {
    "adapter": (load_peft.load, DECODERS),
    "merged": (load_merged.load, DECODERS),
    "sentence_transformer": (load_sentence_transformer.load, {"bert", "roberta"}),
    "model.gguf": (load_gguf.load, {"llama", "qwen2"}),
}


def load(folder):
    [kind] = [kind for kind in KINDS if (folder / kind).exists()]
    before = [str(folder / "base")] if kind == "adapter" else []
    return kind, KINDS[kind][0](*before, str(folder / kind), str(folder / "expected.json"))


def main():
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/expected.json"))
    assert folders, f"{sys.argv[1]}: no folders"
    found = {kind: set() for kind in KINDS}
    for folder in folders:
        kind, architecture = load(folder)
        found[kind].add(architecture)
    expected = {kind: architectures for kind, (_, architectures) in KINDS.items()}
    assert found == expected, f"loaded {found}, expected {expected}"
    print(f"ok: {len(folders)} folders")


if __name__ == "__main__":
    main()

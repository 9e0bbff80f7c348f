"""Loads an exported adapter with `peft` on its base model and compares logits, before and after merging.

    pip install -r tests/interop/requirements-models.txt
    python tests/interop/load_peft.py BASE_DIR ADAPTER_DIR EXPECTED.json

If the adapter trains tokens that the base lacks, the base is resized to hold them. EXPECTED.json is described in
expected.py.
"""

import sys
from pathlib import Path

import torch
from peft import PeftConfig, PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file

import expected


def resize(model, adapter):
    """Makes room for new tokens; the adapter brings their rows."""
    config = PeftConfig.from_pretrained(adapter)
    indices = getattr(config, "trainable_token_indices", None) or getattr(config, "token_indices", None) or []
    if isinstance(indices, dict):
        indices = [index for rows in indices.values() for index in rows]
    n_tokens = max(indices, default=-1) + 1
    if n_tokens > model.config.vocab_size:
        model.resize_token_embeddings(n_tokens, mean_resizing=False)


def check_tensors(model, adapter):
    """Checks that every tensor of the file, and no other, has become a weight of the adapter.

    Beside them the file may hold what PEFT adds when it resized the base: whole embeddings, or rows of a tied head.
    """
    stored = load_file(Path(adapter) / "adapter_model.safetensors")
    needed = get_peft_model_state_dict(model, save_embedding_layers=False)
    loaded = needed | get_peft_model_state_dict(model, save_embedding_layers=True)
    assert needed.keys() <= stored.keys() <= loaded.keys(), sorted(needed.keys() ^ stored.keys())
    for name, tensor in stored.items():
        assert torch.equal(tensor, loaded[name]), name


def load(base, adapter, path):
    cases = expected.read_cases(path)
    model = expected.load_model(base)
    architecture = model.config.model_type
    expected.check_tokenizer(adapter, path)
    resize(model, adapter)
    model = PeftModel.from_pretrained(model, adapter).eval()
    check_tensors(model, adapter)
    expected.check(f"{adapter} on {base}", expected.max_error(model, cases))
    expected.check(f"{adapter} merged", expected.max_error(model.merge_and_unload(), cases))
    return architecture


if __name__ == "__main__":
    load(*sys.argv[1:])

"""Loads a GGUF file that this workspace wrote in llama.cpp, and compares tokens and logits with expected ones.

    pip install -r tests/interop/requirements-models.txt
    python tests/interop/load_gguf.py FILE.gguf EXPECTED.json

EXPECTED.json holds the `type` of the weights, `text`, its `tokens`, and `logits`: for the number of tokens read, those of
the token that follows, computed in f32 from the weights as the file stores them.
"""

import json
import sys
from pathlib import Path

import llama_cpp
import numpy

# The largest error of a logit by the type of the weights.
ERROR_MAX = {"f16": 5e-2, "q8_0": 1.0}


def load(file, path):
    expected = json.loads(Path(path).read_text())
    model = llama_cpp.Llama(file, n_ctx=512, logits_all=True, verbose=False)
    tokens = model.tokenize(expected["text"].encode(), add_bos=False, special=True)
    assert tokens == expected["tokens"], f"{file}: llama.cpp gives other tokens:\n{tokens}\n{expected['tokens']}"
    model.eval(tokens)
    pairs = [(model.scores[int(read) - 1], numpy.array(logits)) for read, logits in expected["logits"].items()]
    assert pairs and all(found.shape == wanted.shape for found, wanted in pairs), f"{file}: other logits"
    errors = [abs(found - wanted).max() for found, wanted in pairs]
    spread = [wanted.std() for _, wanted in pairs]
    print(file, errors, spread, [abs(w).max() for _, w in pairs], [(f-w).std() for f, w in pairs])
    error, error_max = numpy.max(errors), ERROR_MAX[expected["type"]]
    what = f"{file}: logits after {', '.join(expected['logits'])} tokens"
    if not error <= error_max:
        raise SystemExit(f"failed: {what}: max abs error {error:.3g} > {error_max:g}")
    print(f"ok: {what}: max abs error {error:.3g}")
    return model.metadata["general.architecture"]


if __name__ == "__main__":
    load(*sys.argv[1:])

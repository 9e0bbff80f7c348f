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

# The largest error of a logit by the type of the weights, as a share of the largest logit. llama.cpp rounds what it
# multiplies the weights with to their type: to 11 bits for F16 (1/2048 of a value), to 8 bits for Q8_0 (1/254 of the
# largest of 32). The rounding of a layer goes through the next; ten times that of one value leaves room for it.
ERROR_MAX = {"f16": 10 / 2048, "q8_0": 10 / 254}


def load(file, path):
    expected = json.loads(Path(path).read_text())
    model = llama_cpp.Llama(file, n_ctx=64, logits_all=True, verbose=False)
    tokens = model.tokenize(expected["text"].encode(), add_bos=False, special=True)
    assert tokens == expected["tokens"], f"{file}: llama.cpp gives other tokens:\n{tokens}\n{expected['tokens']}"
    model.eval(tokens)
    pairs = [(model.scores[int(read) - 1], numpy.array(logits)) for read, logits in expected["logits"].items()]
    assert pairs and all(found.shape == wanted.shape for found, wanted in pairs), f"{file}: other logits"
    error = numpy.max([abs(found - wanted).max() / abs(wanted).max() for found, wanted in pairs])
    error_max = ERROR_MAX[expected["type"]]
    what = f"{file}: logits after {', '.join(expected['logits'])} tokens"
    if not error <= error_max:
        raise SystemExit(f"failed: {what}: error {error:.2%} > {error_max:.2%} of the largest")
    print(f"ok: {what}: error {error:.2%} of the largest")
    return model.metadata["general.architecture"]


if __name__ == "__main__":
    load(*sys.argv[1:])

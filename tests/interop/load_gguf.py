"""Loads a GGUF file that this workspace wrote in llama.cpp, and compares tokens and logits with expected ones.

Usage: python load_gguf.py FILE.gguf EXPECTED.json [TOLERANCE]   (packages: requirements.txt)

EXPECTED.json holds `text`, its `tokens`, and `logits`: for the number of tokens read, those of the token that follows.
The tolerance is the largest absolute error of a logit. The default suits F16 weights (llama.cpp also rounds what it
multiplies them with to 16 bits); Q8_0 needs about 1.
"""

import json
import sys
from pathlib import Path

import llama_cpp
import numpy as np

TOLERANCE = 5e-2


def main(file, expected, tolerance):
    expected = json.loads(Path(expected).read_text())
    model = llama_cpp.Llama(file, n_ctx=512, logits_all=True, verbose=False)
    tokens = model.tokenize(expected["text"].encode(), add_bos=False, special=True)
    if tokens != expected["tokens"]:
        sys.exit(f"{file}: llama.cpp gives other tokens:\n{tokens}\n{expected['tokens']}")
    model.eval(tokens)
    for read, logits in expected["logits"].items():
        found, wanted = model.scores[int(read) - 1], np.array(logits, dtype=np.float32)
        error = np.abs(found - wanted).max()
        same = found.argmax() == wanted.argmax()
        print(f"after {read} tokens: {len(wanted)} logits, largest error {error:.2e}, same best token: {same}")
        if not (error <= tolerance and same):
            sys.exit(f"{file}: the error is above {tolerance}, or the best token another")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else TOLERANCE)

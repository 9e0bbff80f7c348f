"""Loads an exported model directory with `transformers` and compares its logits.

    pip install -r tests/interop/requirements-models.txt
    python tests/interop/load_merged.py DIR EXPECTED.json

Every tensor of the architecture must be there and no other. EXPECTED.json is described in expected.py.
"""

import sys

import expected


def load(directory, path):
    model = expected.load_model(directory)
    expected.check_tokenizer(directory, path)
    expected.check(directory, expected.max_error(model, expected.read_cases(path)))
    return model.config.model_type


if __name__ == "__main__":
    load(*sys.argv[1:])

"""Loads an exported model directory with `transformers` and compares its logits.

    pip install -r tests/interop/requirements-models.txt
    python tests/interop/load_merged.py DIR EXPECTED.json

Every tensor of the architecture must be there and no other. EXPECTED.json is described in expected.py.
"""

import sys

import expected


def main():
    directory, path = sys.argv[1:]
    model = expected.load_model(directory)
    expected.check(directory, expected.max_error(model, expected.read_cases(path)))


if __name__ == "__main__":
    main()

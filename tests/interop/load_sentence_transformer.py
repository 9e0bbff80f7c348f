"""Loads an exported retriever with `sentence-transformers` and compares its tokens and vectors.

    pip install -r tests/interop/requirements-models.txt
    python tests/interop/load_sentence_transformer.py DIR EXPECTED.json

EXPECTED.json is `{"texts": [...], "tokens": [[...], ...], "vectors": [[...], ...]}`. Texts are encoded as the directory is
configured: its template, its limit of tokens, its pooling and its normalization; in one batch and one by one.
"""

import json
import sys
from pathlib import Path

import numpy
from sentence_transformers import SentenceTransformer

ERROR_MAX = 1e-5


def load(directory, path):
    given = json.loads(Path(path).read_text())
    texts, vectors = given["texts"], numpy.array(given["vectors"])
    assert texts and len(texts) == len(vectors), f"{path}: {len(texts)} texts, {len(vectors)} vectors"
    model = SentenceTransformer(directory, device="cpu", local_files_only=True)
    tokens = [model.tokenize([text])["input_ids"][0].tolist() for text in texts]
    assert tokens == given["tokens"], f"{directory}: other tokens:\n{tokens}\n{given['tokens']}"
    batched = model.encode(texts, batch_size=len(texts))
    single = numpy.concatenate([model.encode([text]) for text in texts])
    assert batched.shape == vectors.shape, f"vectors {batched.shape}, expected {vectors.shape}"
    error = max(abs(batched - vectors).max(), abs(single - vectors).max())
    lengths = [len(row) for row in tokens]
    what = f"{directory}: {len(texts)} texts, {min(lengths)} to {max(lengths)} tokens, read up to {model.max_seq_length}"
    if not error <= ERROR_MAX:
        raise SystemExit(f"failed: {what}: max abs error {error:.3g} > {ERROR_MAX:g}")
    print(f"ok: {what}: max abs error {error:.3g}")
    return model[0].auto_model.config.model_type


if __name__ == "__main__":
    load(*sys.argv[1:])

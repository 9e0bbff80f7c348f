"""Writes bm25.json: scores of the public package rank_bm25, to check the Rust BM25 against.

Run with: pip install rank_bm25==0.2.2 numpy && python bm25.py > bm25.json
"""

import json

from rank_bm25 import BM25Okapi

CODE = [
    "def load_config(path):\n    with open(path) as f:\n        return json.load(f)",
    "class Config:\n    def __init__(self, path):\n        self.path = path",
    "def save_config(config, path):\n    with open(path, 'w') as f:\n        json.dump(config, f)",
    "class Cache:\n    def get(self, key):\n        return self.items.get(key)\n    def put(self, key, value):\n        self.items[key] = value",
    "import os\nimport json\nfrom .config import load_config",
]

CASES = [
    ("code", CODE, ["config = load_config(path)\nreturn config", "self.items[key] = value", "Class Config:", "with open(path) as f:"]),
    ("upper case in the query", ["Alpha beta", "alpha Beta gamma", "delta"], ["Alpha", "alpha", "BETA delta"]),
    ("a word in every document has a negative idf", ["a b", "a c", "a d", "a"], ["a", "a b", "a a"]),
    ("every idf is negative", ["a b", "a b", "b a"], ["a", "b a"]),
    ("a word in exactly half of the documents has idf 0", ["a x", "a y", "b z", "b w"], ["a", "a b"]),
    ("empty documents", ["", "a b c", "", "a", "   "], ["a", "b", "z", ""]),
    ("one document", ["a b a"], ["a", "b b", "q"]),
    ("unknown words and an empty query", ["a b", "c d", "e f"], ["x y z", "", "x c"]),
    ("ties keep the order of the documents", ["k v", "q r", "k v", "s t", "v k", "u w", "m n"], ["k", "k v", "none"]),
    ("repeated words in documents and queries", ["a a a a b", "a b b b b b b b", "c c", "a", "d e f g"], ["a a a", "b a b", "c a"]),
    ("words beyond ASCII", ["größe Straße İstanbul", "ΣΊΣΥΦΟΣ größe", "中文 标识符"], ["größe", "GRÖSSE Größe", "σίσυφος", "标识符"]),
]

WORDS = ["a\tb\n\nc", "  Foo(Bar)  baz ", "a\u00a0b\u2003c\u3000d", "a\u001cb\u001fc\u0085d", "x\u200by", "ΣΊΣΥΦΟΣ ẞ Ǆ", ""]


def run(documents, text, lowercase):
    index = BM25Okapi([document.lower().split() for document in documents])
    words = text.lower().split() if lowercase else text.split()
    scores = [float(score) for score in index.get_scores(words)]
    order = sorted(range(len(scores)), key=lambda i: scores[i], reverse=True)
    return {"text": text, "lowercase": lowercase, "scores": scores, "order": order}


cases = [
    {
        "name": name,
        "documents": documents,
        "queries": [run(documents, text, lowercase) for text in queries for lowercase in (False, True)],
    }
    for name, documents, queries in CASES
]
words = [{"text": text, "as_is": text.split(), "lower": text.lower().split()} for text in WORDS]
print(json.dumps({"rank_bm25": "0.2.2", "cases": cases, "words": words}, separators=(",", ":")))

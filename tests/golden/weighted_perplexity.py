"""Writes weighted_perplexity.json: token weights and weighted perplexities worked out with the standard library.

Run with: python weighted_perplexity.py > weighted_perplexity.json
"""

import json
import keyword
import math
import re

WORD = re.compile(r"[_A-Za-z][_A-Za-z0-9]*")
JAVA = {"return", "new", "public", "static", "final", "void", "int", "if", "else", "for", "class", "null", "true", "false"}
KEYWORDS = {"python": set(keyword.kwlist), "java": JAVA}

# Tokens as a byte-level BPE cuts them: a leading space belongs to its token. The NLL is in nats.
CASES = [
    ("python", ["return", " self", ".", "load", "_", "config", "(", "path", ")"], [0.5, 0.25, 0.1, 2.0, 0.3, 1.5, 0.2, 3.0, 0.05]),
    ("python", [" os", ".path", ".", "join", "(", "a", ",", " b", ")", "\n"], [1.0, 0.5, 0.1, 0.4, 0.2, 2.5, 0.6, 1.25, 0.3, 0.15]),
    ("python", ["x", " =", " ", "0", "xf", "f", " +", " ", "1", "2", "\n", "    ", "return", " x", "1"],
     [4.0, 0.2, 0.1, 1.0, 2.0, 1.0, 0.5, 0.25, 1.0, 1.0, 0.1, 0.2, 0.3, 0.6, 0.9]),
    ("python", ["if", " not", " None", ":", " pass"], [0.7, 0.6, 0.5, 0.4, 0.3]),
    ("java", ["new", " Array", "List", "<", "String", ">();"], [0.4, 1.1, 0.2, 0.3, 0.8, 0.1]),
    ("java", ["get", "Name", "()", ".", "equals", "(null", ");"], [2.0, 1.0, 0.5, 0.25, 0.125, 1.5, 0.75]),
    ("python", ["(", ")"], [0.01, 12.5]),
    ("python", ["value"], [3.25]),
]
RULES = [(3.0, 5.0, 1), (3.0, 5.0, 0), (2.0, 1.5, 3)]


def spans(text, language):
    """Byte spans of the identifiers: words that do not continue a number and are no keywords."""
    found = []
    for match in WORD.finditer(text):
        continues = match.start() > 0 and text[match.start() - 1].isalnum()
        if not continues and match.group() not in KEYWORDS[language]:
            found.append(match.span())
    return found


def paper(pieces, language, identifier, first, first_tokens):
    found = spans("".join(pieces), language)
    weights, at = [], 0
    for index, piece in enumerate(pieces):
        overlaps = any(start < at + len(piece) and at < end for start, end in found)
        weights.append(first if index < first_tokens else identifier if overlaps else 1.0)
        at += len(piece)
    return weights


def released(pieces, language, identifier):
    def weight(piece):
        is_identifier = WORD.match(piece) and piece not in KEYWORDS[language]
        return identifier if is_identifier else 1.0

    return [weight(piece) for piece in pieces]


def case(language, pieces, nll):
    assert len(pieces) == len(nll) and all(piece.isascii() for piece in pieces)
    rules = []
    for identifier, first, first_tokens in RULES:
        by_paper = paper(pieces, language, identifier, first, first_tokens)
        by_code = released(pieces, language, identifier)
        total = math.fsum(w * x for w, x in zip(by_paper, nll))
        rules.append({
            "identifier": identifier, "first": first, "first_tokens": first_tokens,
            "paper_weights": by_paper, "released_weights": by_code,
            "paper": math.exp(total / math.fsum(by_paper)),
            "released": math.fsum(w * x for w, x in zip(by_code, nll)) / len(nll),
        })
    return {"language": language, "pieces": pieces, "nll": nll, "perplexity": math.exp(math.fsum(nll) / len(nll)), "rules": rules}


print(json.dumps({"cases": [case(*each) for each in CASES]}, separators=(",", ":")))

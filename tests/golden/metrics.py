"""Writes metrics.json: text metrics of made-up predictions, worked out independently of the Rust code.

    pip install -r requirements.txt
    python metrics.py > metrics.json

Each measure is written after its description in the benchmark's paper and code; `fuzzywuzzy` with `Levenshtein`,
`editdistance` and `tree_sitter` are the packages the benchmarks themselves call. Read by `eval::metrics`.
"""

import json
import keyword
import random
import re

import editdistance
import tree_sitter_java
import tree_sitter_python
from fuzzywuzzy import fuzz
from tree_sitter import Language, Parser

PARSERS = {
    "python": Parser(Language(tree_sitter_python.language())),
    "java": Parser(Language(tree_sitter_java.language())),
}
JAVA_KEYWORDS = set(
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends final "
    "finally float for goto if implements import instanceof int interface long native new package private protected "
    "public return short static strictfp super switch synchronized this throw throws transient try var void volatile "
    "while".split()
)
PYTHON_KEYWORDS = set(keyword.kwlist) - {"True", "False"}


def has_error_node(text):
    nodes = [PARSERS["python"].parse(text.encode()).root_node]
    while nodes:
        node = nodes.pop()
        if node.type == "ERROR":
            return True
        nodes.extend(node.children)
    return False


def statement(context, prediction, language):
    if language == "java":
        found = re.search("[;}{]", prediction)
        return prediction[: found.end()] if found and found.start() else prediction
    for length in range(1, len(prediction)):
        if prediction[length] == "\n" and not has_error_node(context + prediction[:length]):
            return prediction[:length].rstrip()
    return prediction


def without_comments(code):
    return "\n".join(line.split("#", 1)[0].split("//", 1)[0] for line in code.split("\n"))


def identifiers(code, language):
    code = re.sub(r'''"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*\'''', "", code)
    keywords = JAVA_KEYWORDS if language == "java" else PYTHON_KEYWORDS
    return [word for word in re.findall(r"\w+", code) if re.match("[A-Za-z_]", word) and word not in keywords]


def overlap(left, right):
    """Precision, recall and F1 of sets."""
    left, right = set(left), set(right)
    precision = len(left & right) / len(left) if left else 0
    recall = len(left & right) / len(right) if right else 0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def repoeval_similarity(prediction, target):
    target = lines(target)
    prediction = "\n".join(lines(prediction)[: len(target)])
    target = "\n".join(target)
    longest = max(len(prediction), len(target))
    return 1 - editdistance.eval(prediction, target) / longest if longest else 1


def score(context, prediction, target, language):
    cut = statement(context, prediction, language)
    code, wanted = without_comments(cut), without_comments(target)
    names, wanted_names = identifiers(code, language), identifiers(wanted, language)
    precision, recall, f1 = overlap(names, wanted_names)
    stripped = [[line.strip() for line in text.split("\n") if line.strip()] for text in (code, wanted)]
    packed, wanted_packed = "".join(prediction.split()), "".join(target.split())
    shorter = min(len(packed), len(wanted_packed))
    return cut, {
        "exact_match_cceval": float(stripped[0] == stripped[1]),
        "edit_similarity_cceval": float(fuzz.ratio(code.strip(), wanted.strip())),
        "identifier_exact_match_cceval": float(names == wanted_names),
        "identifier_precision_cceval": precision,
        "identifier_recall_cceval": recall,
        "identifier_f1_cceval": f1,
        "exact_match_repoeval": float(lines(prediction)[: len(lines(target))] == lines(target)),
        "edit_similarity_repoeval": repoeval_similarity(prediction, target),
        "exact_match_rlcoder_repoeval": float(lines(code)[: len(lines(wanted))] == lines(wanted)),
        "edit_similarity_rlcoder_repoeval": repoeval_similarity(code, wanted),
        "exact_match_rlcoder_github": float(packed[:shorter] == wanted_packed[:shorter]),
    }


TARGETS = {
    "python": [
        ("def area(shape):\n    width = ", "shape.width(True) * self._scale"),
        ("for name in ", "sorted(names, key=lambda n: n.lower()):\n    print(name)"),
        ("import urls\n", 'page = urls.open("http://host/a#b", timeout=2)  # slow'),
        ("total = 7 ", "// parts if parts else None"),
        ("table = {\n", "    'it\\'s': [1, 2],\n    \"k\": load(path),\n}"),
        ("class A:\n    def f(self):\n        ", "return super().f(*args, **kwargs)"),
        ("x = ", "größe['schlüssel'] + straße"),
        ("text = ", "'''one\ntwo'''.strip()"),
        ("", ""),
    ],
    "java": [
        ("int area(Shape shape) {\n  return ", "shape.width(true) * this.scale;"),
        ("for (var name : ", "names.sorted()) {\n  out.println(name);\n}"),
        ("var page = ", 'urls.open("http://host/a", null); // slow'),
        ("", "Map<String, List<Integer>> byName = new HashMap<>();"),
        ("char c = ", "'\\'' + \"a\\\"b\".charAt(0);"),
        ("String s = ", "größe.get(straße);"),
    ],
}
ENDINGS = ["", "\n", "\n\nnext_one = other(2)\n", "; more(); }\n", "  # remark\nrest", "\r\nb = 3\r\n", "\n)\n", "\x0c\x1cz"]
PIECES = ["self", ".", "(", ")", " ", "\n", "'", '"', "#", "//", "None", "null", "x1", "2", ";", "{", "é", "\\", "_"]


def mutated(text, rng):
    text = list(text)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        place = rng.randint(0, len(text))
        action = rng.randrange(3)
        if action == 0:
            text[place:place] = [rng.choice(PIECES)]
        elif action == 1:
            text[place : place + rng.randint(1, 4)] = []
        else:
            text[place : place + 1] = [rng.choice(PIECES)]
    return "".join(text)


def predictions(rng):
    for _ in range(16):
        for language, targets in TARGETS.items():
            for context, target in targets:
                yield language, context, mutated(target, rng) + rng.choice(ENDINGS), target
    for prediction, target in [("", "x"), ("x", ""), ("\n", "\n"), (";", ";"), ("}", "a"), ("x y", "xy z"), ("a", "b" * 40)]:
        yield "python", "", prediction, target
        yield "java", "", prediction, target


def main():
    names, rows = None, []
    for language, context, prediction, target in predictions(random.Random(2)):
        cut, scores = score(context, prediction, target, language)
        names = list(scores)
        row = [language, context, prediction, target, cut, [scores[name] for name in names]]
        rows.append(json.dumps(row, ensure_ascii=False))
    print('{"metrics": ' + json.dumps(names) + ',\n"cases": [\n' + ",\n".join(rows) + "\n]}")


if __name__ == "__main__":
    main()

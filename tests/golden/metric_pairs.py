"""Holds every text metric against the original Python, on ten thousand pairs; writes metric_pairs.json.

    pip install --no-deps -r requirements.txt  # those of metrics.py, generation.py and metric_pairs.py
    python3.11 metric_pairs.py make 10000 > pairs.jsonl
    cargo run -p train -- metrics --pairs pairs.jsonl --per-pair > ours.jsonl
    PYTHONHASHSEED=0 python3.11 metric_pairs.py compare pairs.jsonl ours.jsonl
    PYTHONHASHSEED=0 python3.11 metric_pairs.py golden 300 > metric_pairs.json

The pairs: functions and lines of Python's own library and Java of generation.py, as they are, cut and mutated, each under a
context that may not parse; and hostile texts (no text, white space of every kind, unterminated strings, marks inside
strings, deep nesting, emoji, control characters). `nltk`, `sacrebleu`, `codebleu`, `fuzzywuzzy`, `editdistance` and
`tree_sitter` are the originals; what no package holds (CrossCodeEval's cut and identifiers, RepoEval's lines, ToolGen's
and CodeXGLUE's BLEU) is written after its description in metrics.py and generation.py. CodeXGLUE's CodeBLEU is the
package with CodeXGLUE's keywords, its Java comments in every language, and no forgiveness for a missing data flow.
Where an original divides by zero (ToolGen's BLEU without tokens, RepoEval's edit similarity of nothing) ours defines a
value, and so does this.
"""

import ast
import json
import logging
import pathlib
import random
import sys
import sysconfig
import textwrap

import codebleu.codebleu as package
import codebleu.dataflow_match as dataflow_match
import codebleu.syntax_match as syntax_match
import generation
import metrics
from codebleu.parser import utils as comments
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu
from sacrebleu.metrics import BLEU

TOLERANCE = 1e-9
LIBRARY = ["json/decoder.py", "argparse.py", "textwrap.py", "shlex.py", "configparser.py", "csv.py", "tarfile.py", "difflib.py"]
CHARS_MAX = 600
HOSTILE = [
    "", " ", "\n", "\t\n \x0c", "\r\n\r\n", "\r", "\u2028\u2029\x85", "\x1c\x1d\x1e\x1f", "#", "//", "/*", "*/", "'", '"', '"""',
    "'''\n", "\\", "\\\n", "'\\", "x = 'a # b'", 'url = "http://h/x" # y', "x = 'it\\'s'", "// only", "/* a */ x", "/* a // b\n*/",
    "(" * 40, "[" * 30 + "]" * 30, "f(" * 25 + "1" + ")" * 25, "{}" * 20, "if x:\n" + " if y:\n  " + "z", "😀 = '🎉'", "größe = straße",
    "ﬀ ß İ ı", "x\u0301 = y\u0301", "a\u00a0b\u3000c", "\ufeffx = 1", "0x1f 1e5 1_000 0b1", "x.y.z.w", "a,b.c,1.2,3.4-5-", "3-4 ... ,,.. .5 5.",
    "&lt;a&gt; &amp;quot; &quot;", "<skipped> a-\nb", "True False None true false null", "match case type _", "lambda: (yield)",
    "async def f(): await x", "print 'old'", "`x`", "$a ? b : c;", "@Override", "int x = 1;;", "}", "{", ";", "a; b", "} else {", "\x00x",
    "for", "return", "x" * 500, "a b " * 120, "α β γ", "x=1\ry=2\rz", "\x0bx\x0b", "f'{x!r:>{w}}'", "rb'x' b\"y\"", "x = (1,\n", "def f(:\n  return )",
    "<COMP>x.<COMP>y", "''' a ' b '''", '" \\" # "',
]


def python_texts():
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    for name in LIBRARY:
        text = (root / name).read_text()
        lines = text.split("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.Assign, ast.Return, ast.Expr, ast.If, ast.For)):
                source = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                if 8 < len(source) < CHARS_MAX:
                    yield source


def java_texts():
    for source in generation.JAVA:
        yield source
        for line in source.split("\n"):
            if line.strip():
                yield line.strip()


def context(rng, language, text):
    contexts = ["", "x = ", "import os\n\n", text[: rng.randint(0, len(text))], "def f(a):\n    ", "((", "class A {\n  int f() {\n    "]
    return rng.choice(contexts)


def pairs(n):
    rng = random.Random(11)
    texts = {"python": sorted(set(python_texts())), "java": sorted(set(java_texts()))}
    for index in range(n):
        language = "python" if index % 3 else "java"
        reference = rng.choice(texts[language])
        way = rng.randrange(8)
        if way == 0:
            prediction, reference = rng.choice(HOSTILE), rng.choice([reference, rng.choice(HOSTILE)])
        elif way == 1:
            prediction, reference = rng.choice([reference, reference + rng.choice(HOSTILE)]), rng.choice(HOSTILE)
        elif way == 2:
            prediction = rng.choice(texts[language])
        else:
            prediction = reference
            for _ in range(rng.choice([0, 1, 1, 2, 3])):
                prediction = rng.choice([generation.mutated, metrics.mutated])(prediction or "x", rng)
            prediction += rng.choice(["", "", "\n", "\nrest(1)\n", rng.choice(metrics.ENDINGS)])
        if rng.randrange(12) == 0:
            prediction, reference = prediction.replace("\n", "\r\n"), reference.replace("\n", "\r\n")
        yield {"prediction": prediction, "reference": reference, "prompt": context(rng, language, reference), "language": language}


def codebleu(reference, prediction, language, variant):
    keep = (syntax_match.remove_comments_and_docstrings, dataflow_match.remove_comments_and_docstrings)
    folder = package.PACKAGE_DIR / "keywords"
    if variant != "k4black":
        folder = generation.TOOLGEN_KEYWORDS
        cut = {
            "toolgen": lambda code, language: code,
            "codexglue": lambda code, language: comments.remove_comments_and_docstrings(code, "java"),
        }[variant]
        syntax_match.remove_comments_and_docstrings = dataflow_match.remove_comments_and_docstrings = cut
    scores = package.calc_codebleu([reference], [prediction], language, keywords_dir=folder)
    syntax_match.remove_comments_and_docstrings, dataflow_match.remove_comments_and_docstrings = keep
    if variant == "k4black":
        return scores["codebleu"]
    return sum(value for name, value in scores.items() if name != "codebleu") / 4


def score(pair):
    prediction, reference, language = pair["prediction"], pair["reference"], pair["language"]
    _, scores = metrics.score(pair["prompt"], prediction, reference, language)
    cleaned = [generation.clean(text) for text in (prediction, reference)]
    words = [text.split() for text in (prediction, reference)]
    scores["exact_match_toolgen"] = float(cleaned[0] == cleaned[1])
    scores["edit_similarity_toolgen"] = float(generation.fuzz.ratio(*[" ".join(text.split()) for text in cleaned]))
    scores["bleu4_codexglue"] = generation.bleu4([words]) or 0.0
    scores["bleu4_nltk"] = float(corpus_bleu([[words[1]]], [words[0]], smoothing_function=SmoothingFunction().method1))
    scores["bleu4_sacrebleu"] = BLEU(force=True).corpus_score([prediction], [[reference]]).score
    scores["codebleu_toolgen"] = codebleu(cleaned[1], cleaned[0], language, "toolgen")
    scores["codebleu_codexglue"] = codebleu(reference, prediction, language, "codexglue")
    scores["codebleu_k4black"] = codebleu(reference, prediction, language, "k4black")
    return scores


def compare(pairs_path, ours_path):
    n, different, names = 0, {}, set()
    with open(pairs_path, newline="\n") as pairs_file, open(ours_path, newline="\n") as ours_file:
        for pair, ours in zip(pairs_file, ours_file, strict=True):
            pair, ours = json.loads(pair), json.loads(ours)
            expected = score(pair)
            n += 1
            names |= set(expected) | set(ours)
            for name in set(expected) | set(ours):
                # A metric of counts without a value is left out by ours.
                found = ours.get(name, 0.0)
                if name not in expected or abs(found - expected[name]) > TOLERANCE:
                    different.setdefault(name, []).append((pair, found, expected.get(name)))
    for name in sorted(names):
        found = different.get(name, [])
        print(f"{name}: differences: {len(found)} of {n}")
        for pair, ours, expected in found[:3]:
            print(f"    ours {ours}, original {expected}: {json.dumps(pair)[:600]}")
    total = sum(map(len, different.values()))
    print(f"differences: {total} of {n * len(names)}")
    return total


def golden(n):
    rows, names = [], None
    for pair in pairs(n):
        scores = score(pair)
        names = list(scores)
        rows.append(json.dumps([*pair.values(), list(scores.values())], ensure_ascii=True))
    print('{"metrics": ' + json.dumps(names) + ',\n"cases": [\n' + ",\n".join(rows) + "\n]}")


def main():
    logging.disable()
    match sys.argv[1:]:
        case ["make", n]:
            for pair in pairs(int(n)):
                print(json.dumps(pair))
        case ["compare", pairs_path, ours_path]:
            sys.exit(min(compare(pairs_path, ours_path), 1))
        case ["golden", n]:
            golden(int(n))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

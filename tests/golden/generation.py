"""Writes generation.json: text metrics of written functions, by the original packages.

    pip install --no-deps -r requirements.txt  # those of metrics.py and generation.py
    python3.11 generation.py WHEEL... > generation.json

`codebleu` asks for tree-sitter 0.22; it runs as well with the newer one, whose grammars are those of the Rust code.
Python 3.11 or older: since 3.12 `tokenize` cuts f-strings into pieces, and docstrings are found by it. The package
orders some names by Python's string hashes; here its sets keep the order of insertion, so that it always gives the same.
Left alone, the data flow of 2 to 4 of the 125 functions moves by up to 0.055 with the hash seed, CodeBLEU of the corpus by
0.0007. With the grammars of tree-sitter 0.22 (0.21.0 of both languages) all Java functions score the same; 15 of the Python ones differ in
syntax, CodeBLEU of the corpus by 0.003: 13 of the 32 trees that differ have errors, 16 only name a place `value` that had no name.

ToolGen's variant is the same code with these differences, which are those of its copy of CodeXGLUE's: comments stay, a
missing data flow scores 0, and `match`, `case` and `type` are no keywords. Its other measures are written after its
paper and code. The functions are those of the wheels named in the JSON. Read by `eval::metrics`.
"""

import ast
import json
import math
import random
import re
import sys
import textwrap
import zipfile
from collections import Counter

import codebleu.codebleu as package
import codebleu.dataflow_match as dataflow_match
import codebleu.parser.DFG as dfg
import codebleu.syntax_match as syntax_match
from codebleu.parser import utils as comments
from fuzzywuzzy import fuzz

N_PER_WHEEL = 12
CHARS_MAX = 700


class OrderedSet(dict):
    def __init__(self, items=()):
        super().__init__(dict.fromkeys(items))

    def add(self, item):
        self[item] = None


dfg.set = dataflow_match.set = OrderedSet

JAVA = [
    """public int sum(int[] values) {
    int total = 0; // running
    for (int i = 0; i < values.length; i++) {
        total += values[i];
    }
    return total;
}""",
    """static String join(List<String> parts, String separator) {
    /* Joins. */
    StringBuilder builder = new StringBuilder();
    for (String part : parts) {
        if (builder.length() > 0) {
            builder.append(separator);
        } else if (part == null) {
            part = "null";
        } else {
            builder = builder.reverse();
        }
        builder.append(part);
    }
    return builder.toString();
}""",
    """private Map<String, Integer> count(Reader reader) throws IOException {
    Map<String, Integer> counts = new HashMap<>();
    String line, last = null;
    while ((line = reader.readLine()) != null) {
        String key = line.trim();
        Integer old = counts.get(key);
        counts.put(key, old == null ? 1 : old + 1);
        last = key;
    }
    this.last = last;
    return counts;
}""",
    """@Override
public boolean equals(Object other) {
    if (this == other) return true;
    if (!(other instanceof Point)) { return false; }
    Point that = (Point) other;
    return x == that.x && y == that.y;
}""",
    """void run() {
    try (Connection c = pool.open("jdbc:x//y")) {
        int n = 0, m = n;
        do { n++; m = n * m; } while (n < limit);
        switch (m) { case 1: log("eins\\n"); break; default: log('ö' + "größe"); }
        Runnable r = () -> System.out.println(c);
        r.run();
    } catch (SQLException e) { throw new IllegalStateException(e); }
}""",
]

EXTRA = [
    ("python", "", ""),
    ("python", "", "def f(): pass"),
    ("python", "x = 1", ""),
    ("java", "", "int f() { return 1; }"),
    ("python", "# only a comment", "# another"),
    ("python", "'''doc'''", "'''other doc'''"),
    ("python", "$ ? `", "def f(:\n  return )"),
    ("python", "def f(a):\n\tif a:\n\t\tx = a\n\telse:\n\t\tx = 0\n\treturn x", "def f(b):\n    if b:\n        x = b\n    else:\n        x = 0\n    return x"),
    ("python", "def f(a):\n    größe = a\n    ü = größe + a\n    return ü", "def f(a):\n    größe = a\n    ü = größe - a\n    return größe"),
    ("python", "def f(a):\n  if a:\n      b\n   c", "def f(a):\n  if a:\n      b\n  c"),
    ("python", "def f():\n    x = '''a\nb''' + \"c\\\nd\"\n    y: int = 3\n    return [z for z in x if z not in y]", "def f():\n    x = 'a'\n    y: int\n    return [z for z in x if z is not y]"),
    ("python", "x = (1,\n     2)  # c\nwhile x:\n    x, y = y, x\n    for i, j in x:\n        s += i * j\n        for k in i: s = k", "x = 1\nwhile x:\n    y, x = x, y\n    for i, j in y:\n        s += i\n        for k in j: s = k"),
    ("python", "d['k'] = v\na.b = c.d\na.b = 'text'\n", "d['k'] = v\na.b = c.d\n"),
    ("python", "def f(a, b=1, *c, d=a):\n    with a as b:\n        match b:\n            case type: pass\n    return lambda q=b: q", "def f(a, b=1):\n    match a:\n        case 1: pass"),
    ("java", "int f( { return", "int f() { return x; }"),
    ("java", "/* open", "it's // broken"),
]

COMMENTS = [
    "x = 1 \\\n  + 2  # sum",
    "def f():\n    r\"\"\"Doc\n    more.\"\"\"\n    return rb'x'",
    "def f():\n    # first\n    'doc'\n    x\n    'also gone'\n    (\n'kept?',\n  'kept')",
    "if a:\n  'x'\nelse:\n  f'{y!r:>{w}}'",
    "x = 'open # not\ny = 2 # c",
    "x = \"a\\\n  b\" # c\n'z'",
    "x = 'a\\\nb\n'",
    "a = 1)\nb # c",
    "\tx\t=\t1\t# c\n        y\n",
    "a\x0cb ? c\u00a0$ d! # e\r\nf != g\r\n\r\n  # h\r\n",
    "x = '''a\\\n''' # b\n\n  \t",
    "class A:\n    x: int = 3\n    '''attribute doc'''\n    def f(self): 'inline doc'; return 1",
    "x = 1f'a' + 0b'c' + 12_3r'''d'''\n#",
    "@d\nasync def f(): ...  \n  \n'''end'''",
]


def functions(wheel, rng):
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith(".py"):
                continue
            text = archive.read(name).decode("utf-8", "replace")
            try:
                tree = ast.parse(text)
            except SyntaxError:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    source = ast.get_source_segment(text, node, padded=True)
                    source = textwrap.dedent(source or "")
                    if 120 < len(source) < CHARS_MAX:
                        found.append(source)
    return rng.sample(found, N_PER_WHEEL)


def mutated(text, rng):
    action = rng.randrange(6)
    lines = text.split("\n")
    names = sorted(set(re.findall(r"\b[a-z_]{2,}\b", text)))
    if action == 0:
        return text[: rng.randint(len(text) // 3, len(text))]
    if action == 1:
        del lines[rng.randrange(len(lines))]
        return "\n".join(lines)
    if action == 2 and names:
        return re.sub(rf"\b{rng.choice(names)}\b", "renamed", text)
    if action == 3:
        place = rng.randrange(len(text))
        return text[:place] + rng.choice(["(", "'", '"', "}", "$", " x ", "\n", "# ", "/*", "é"]) + text[place:]
    if action == 4:
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
        return "\n".join(lines)
    return text


def cases(wheels):
    rng = random.Random(5)
    for wheel in wheels:
        for source in functions(wheel, rng):
            prediction = source
            for _ in range(rng.choice([1, 1, 2, 3])):
                prediction = mutated(prediction, rng)
            yield "python", prediction, source
    for source in JAVA:
        for _ in range(4):
            yield "java", mutated(mutated(source, rng), rng), source
        yield "java", rng.choice(JAVA), source
    yield from EXTRA


def clean(code):
    code = code.replace("<COMP>", "")
    code = re.sub(r"'(.*?)'", "''", code)
    return re.sub(r'"(.*?)"', "''", code).strip()


def bleu4(pairs):
    matches, totals, sizes = Counter(), Counter(), [0, 0]
    for prediction, target in pairs:
        sizes[0] += len(prediction)
        sizes[1] += len(target)
        for order in range(1, 5):
            left = Counter(tuple(prediction[i : i + order]) for i in range(len(prediction) - order + 1))
            right = Counter(tuple(target[i : i + order]) for i in range(len(target) - order + 1))
            matches[order] += sum((left & right).values())
            totals[order] += sum(left.values())
    if not all(sizes):
        return None
    mean = math.exp(sum(math.log((matches[order] + 1) / (totals[order] + 1)) for order in range(1, 5)) / 4)
    return mean * (1 if sizes[0] > sizes[1] else math.exp(1 - sizes[1] / sizes[0]))


def parts(targets, predictions, language, toolgen):
    keep = (syntax_match.remove_comments_and_docstrings, dataflow_match.remove_comments_and_docstrings)
    folder = package.PACKAGE_DIR / "keywords"
    if toolgen:
        unchanged = lambda code, language: code
        syntax_match.remove_comments_and_docstrings = dataflow_match.remove_comments_and_docstrings = unchanged
        folder = TOOLGEN_KEYWORDS
    scores = package.calc_codebleu(targets, predictions, language, keywords_dir=folder)
    syntax_match.remove_comments_and_docstrings, dataflow_match.remove_comments_and_docstrings = keep
    names = ["ngram_match_score", "weighted_ngram_match_score", "syntax_match_score", "dataflow_match_score"]
    values = [scores[name] for name in names]
    return values + [sum(values) / 4 if toolgen else scores["codebleu"]]


def toolgen_keywords():
    """The package's lists without what ToolGen's lack, in a folder of their own."""
    import pathlib
    import tempfile

    folder = pathlib.Path(tempfile.mkdtemp())
    for language in ("python", "java"):
        words = (package.PACKAGE_DIR / "keywords" / f"{language}.txt").read_text().split("\n")
        soft = ("match", "case", "type") if language == "python" else ()
        (folder / f"{language}.txt").write_text("\n".join(word for word in words if word.strip() not in soft))
    return folder


def stripped(text):
    try:
        return comments.remove_comments_and_docstrings(text, "python")
    except Exception:
        return text


def score(language, prediction, target):
    cleaned = [clean(prediction), clean(target)]
    collapsed = [" ".join(text.split()) for text in cleaned]
    return [
        language,
        prediction,
        target,
        cleaned[0],
        float(cleaned[0] == cleaned[1]),
        float(fuzz.ratio(*collapsed)),
        bleu4([[list(re.findall(r"\w+|\S", text)) for text in cleaned]]),
        parts([target], [prediction], language, toolgen=True),
        parts([target], [prediction], language, toolgen=False),
    ]


def corpus(rows, language):
    rows = [row for row in rows if row[0] == language]
    texts = [[row[1] for row in rows], [row[2] for row in rows]]
    tokens = [[re.findall(r"\w+|\S", clean(text)) for text in row[1:3]] for row in rows]
    return [
        language,
        bleu4(tokens),
        parts(texts[1], texts[0], language, toolgen=True),
        parts(texts[1], texts[0], language, toolgen=False),
    ]


TOOLGEN_KEYWORDS = toolgen_keywords()


def main():
    import os
    import logging

    logging.disable()
    wheels = sys.argv[1:]
    rows = [score(*case) for case in cases(wheels)]
    dump = lambda value: json.dumps(value, ensure_ascii=False)
    print('{"wheels": ' + dump([os.path.basename(wheel) for wheel in wheels]) + ",")
    print('"cases": [\n' + ",\n".join(map(dump, rows)) + "\n],")
    print('"corpora": [\n' + ",\n".join(dump(corpus(rows, name)) for name in ("python", "java")) + "\n],")
    # The package strips texts before anything else.
    texts = [text.strip() for text in COMMENTS + [row[1] for row in rows if row[0] == "python"]]
    print('"without_comments": [\n' + ",\n".join(dump([text, stripped(text)]) for text in texts) + "\n]}")


if __name__ == "__main__":
    main()

"""Writes dependency_coverage.json: the dependencies of made-up functions, found with regular expressions.

    python dependency_coverage.py > dependency_coverage.json

The expressions are those that the evaluation of ToolGen describes a dependency with. Read by
`eval::metrics::dependency_coverage`.
"""

import json
import random
import re

TRIGGER = "<COMP>"
PIECES = (
    "<COMP>self.|self.|<COMP>area|<COMP>x|<COMP>y|x|y|area| = |=| == |.|(|)|, |\n    |\n    for | in |as | as |:| |"
    "from |import |\n    with |return |'|\"|'s'|f(<COMP>x=|größe|<COMP>größe|[|]| += | int".split("|")
)


def keys(marked, signature):
    text = marked.replace(TRIGGER, "")
    found = set()
    for match in re.finditer(r"\W(\w+\.)*%s(\w+)\s*([^\w\.=]|$)" % TRIGGER, marked):
        key = (match.group(1) or "") + match.group(2)
        root, whole = (re.escape(name) for name in (key.split(".")[0], key))
        bound = [
            r"\s+%s(\W+\w+)*\s*=" % root,
            r"as\s+%s\s*:" % root,
            r"for\s+%s(\W+\w+)*\s+in" % root,
            r"from\s+%s(\W+\w+)*\s+import" % whole,
        ]
        is_parameter = "." not in key and re.search(r"(\W|^)%s(\W|$)" % root, signature)
        if not is_parameter and not any(re.search(pattern, text) for pattern in bound):
            found.add(key)
    return sorted(found)


def blanked(text):
    return re.sub(r'"(.*?)"', "''", re.sub(r"'(.*?)'", "''", text)).strip()


def main():
    random.seed(0)
    cases = []
    for _ in range(300):
        signature = "def f(" + "".join(random.choices(["self", "x", ", ", "y=1", "größe"], k=3)) + "):"
        body = "".join(random.choices(PIECES, k=random.randrange(4, 16)))
        marked = blanked(signature + "\n    " + body)
        cases.append([signature, body, keys(marked, signature)])
    print(json.dumps(cases, ensure_ascii=False, separators=(",", ":")).replace("],[\"def", "],\n[\"def"))


main()

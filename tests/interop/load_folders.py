"""Loads every adapter and every merged model that the matrix test of `models` wrote, with load_peft.py or load_merged.py.

    RETORT_INTEROP_OUT=DIR cargo test -p models every_way_to_train_and_save
    python tests/interop/load_folders.py DIR
"""

import sys
from pathlib import Path

import load_merged
import load_peft


def main():
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/expected.json"))
    assert folders, "no folders"
    for folder in folders:
        expected = str(folder / "expected.json")
        if (folder / "adapter").exists():
            sys.argv[1:] = [str(folder / "base"), str(folder / "adapter"), expected]
            load_peft.main()
        else:
            sys.argv[1:] = [str(folder / "merged"), expected]
            load_merged.main()


if __name__ == "__main__":
    main()

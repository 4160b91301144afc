#!/usr/bin/env python3
"""What fails on real clusters, and the tests of what is said of it (bring_up.csv): each that is
named is there, and at least LEAST_ROWS have one for the beginning of a job and one for
`gdakit check`.

    tests/verbs/bring_up_test.py BUILD_FOLDER CTEST
"""

import csv
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

import fail_table

TABLE = pathlib.Path(__file__).parent / "bring_up.csv"
LEAST_ROWS = 30
PATIENCE_S = 100


def tests_of(build, ctest):
    """The names of all tests, those of all parameters as one."""
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True, timeout=PATIENCE_S).stdout
    names = [test["name"] for test in json.loads(listed)["tests"]]
    return set(names) | {name.rsplit("/", 1)[0] for name in names}


def rows():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")),
                               delimiter=";"))


def unknown(cell, names):
    """The tests of a cell that there are not; of one that has a reason instead, none."""
    if cell.startswith("-: "):
        return []
    known = names | {f"job:{row.fail}" for row in fail_table.JOBS}
    known |= {f"check:{row.fail}" for row in fail_table.CHECKS}
    return [test for test in cell.split() if test not in known] or ([] if cell else ["no test"])


def main():
    build, ctest = sys.argv[1:]
    names = tests_of(build, ctest)
    wrong = []
    tried = 0
    for row in rows():
        cells = (row["when a job begins"], row["gdakit check"])
        wrong += [f"{row['failure']}: there is no {test}" for cell in cells
                  for test in unknown(cell, names)]
        tried += all(not cell.startswith("-: ") for cell in cells)
    if tried < LEAST_ROWS:
        wrong.append(f"{tried} rows have both, of {LEAST_ROWS}")
    print("\n".join(wrong) or f"{tried} of {len(rows())} failures are tried on both sides")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""rdma-core's own tests (pyverbs), as Debian packages them, on a soft ConnectX.

    tests/verbs/pyverbs_test.py GDAKIT

No test may fail but those of pyverbs_table.txt, each with its reason; none of those may pass. At
least as many must pass as that table says. Prints the reasons of skipped tests, by their number.
The exit status is 77 where the packages are not installed.
"""

import collections
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import client

PACKAGED = pathlib.Path("/usr/share/doc/rdma-core/tests")
PYTHON = "/usr/bin/python3"  # the distribution's, whose modules pyverbs is one of
TABLE = pathlib.Path(__file__).with_name("pyverbs_table.txt")
# "test_x (tests.test_y.Class.test_x) ... ok", where a docstring may stand behind the first line.
RESULT = re.compile(r"^(test_\w+) \((tests\.[\w.]+)\)(?:\n[^\n]*?)?(?: \.\.\. )"
                    r"(ok|FAIL|ERROR|skipped '[^\n]*')", re.MULTILINE)


def unpack(folder):
    for path in PACKAGED.iterdir():
        if path.suffix == ".gz":
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.suffix == ".py":
            shutil.copy(path, folder)


def read_table():
    """(the least number that pass, {test: reason})"""
    least, reasons = 0, {}
    for line in TABLE.read_text(encoding="ascii").splitlines():
        if line.startswith("at least "):
            least = int(line.split()[2])
        elif line and not line.startswith("#"):
            test, reason = line.split(maxsplit=1)
            reasons[test] = reason
    return least, reasons


def run_module(fabric, folder, module):
    """{test: its result}, and what is wrong with the run as a whole."""
    # A warning would stand between a test's name and its result.
    environment = dict(os.environ, PYTHONPATH=f"{folder}/tests", PYTHONDONTWRITEBYTECODE="1",
                       PYTHONWARNINGS="ignore")
    try:
        ran = fabric.run(PYTHON, "tests/run_tests.py", "-v", "-k", f".{module}.", cwd=folder,
                         env=environment)
    except subprocess.TimeoutExpired:
        return {}, f"{module} did not end"
    results = {}
    for _, name, result in RESULT.findall(ran.stderr + ran.stdout):
        results[name.removeprefix("tests.")] = result
    if ran.returncode not in (0, 1):
        return results, f"{module} ended with status {ran.returncode}: {ran.stderr[-400:]}"
    return results, None


def main():
    client.require(PYTHON)
    probe = subprocess.run([PYTHON, "-c", "import pyverbs"], capture_output=True, check=False)
    if not PACKAGED.is_dir() or probe.returncode != 0:
        print("skipped: rdma-core and python3-pyverbs are not installed (scripts/setup --optional)")
        return client.NOT_HERE
    fabric = client.Fabric(sys.argv[1])
    least, reasons = read_table()
    results, wrong = {}, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tests").mkdir()
        unpack(folder / "tests")
        for path in sorted((folder / "tests").glob("test_*.py")):
            found, problem = run_module(fabric, folder, path.stem)
            results.update(found)
            wrong += [problem] if problem else []
    failed = {test for test, result in results.items() if result in ("FAIL", "ERROR")}
    passed = sum(result == "ok" for result in results.values())
    wrong += [f"{test} failed" for test in sorted(failed - set(reasons))]
    # Some choose by chance what they ask for, and are skipped for it.
    wrong += [f"{test} is in the table of those that fail, and passes: take it out"
              for test in sorted(reasons) if results.get(test) == "ok"]
    wrong += [f"{test} is in the table, and there is no such test"
              for test in sorted(set(reasons) - set(results))]
    if passed < least:
        wrong.append(f"{passed} tests passed, where {least} do")
    skips = collections.Counter(result.removeprefix("skipped ") for result in results.values()
                                if result.startswith("skipped"))
    for reason, count in skips.most_common():
        print(f"{count:4d} skipped: {reason}")
    print(f"{passed} passed, {len(failed)} failed, {sum(skips.values())} skipped")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

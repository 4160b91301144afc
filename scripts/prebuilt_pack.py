#!/usr/bin/env python3
"""Builds tests, and writes a folder from which another machine runs them.

    prebuilt_pack.py BUILD DIR [--jobs N] [--label-regex R] [--tests-regex R] [--exclude-regex R]

BUILD is a build folder that was configured with GDAKIT_PREBUILT_TESTS=ON. The regular expressions
choose among its tests, by CTest's own files; without one for labels those with the label gpu. Only
the programs of these are built. DIR gets

  run-tests        scripts/prebuilt_run.py: runs what lies beside it
  tests.json       a line for each test: name, command, environment, limits, how it is judged
  programs.tar.xz  bin/ and source/, the programs and scripts that the commands name, stripped, and
                   lib/, the libraries that they are linked with, but for those of C and C++

In commands, names of files are relative to where the archive is unpacked: the tests run there.
Prints what it builds, and last the sizes. scripts/test --pack calls it.
"""

import argparse
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parent
# One call of a file that CMake wrote for CTest, and the words of its arguments.
CALL = re.compile(r"^(add_test|set_tests_properties|subdirs|include)\((.*)\)$", re.MULTILINE)
WORD = re.compile(r'\[=\[(?P<name>.*?)\]=\]|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]+)')
LISTS = {"ENVIRONMENT": "environment", "LABELS": "labels", "RESOURCE_LOCK": "locks",
         "REQUIRED_FILES": "files", "PASS_REGULAR_EXPRESSION": "passes",
         "FAIL_REGULAR_EXPRESSION": "fails", "SKIP_REGULAR_EXPRESSION": "skips"}
NUMBERS = {"TIMEOUT": "timeout", "SKIP_RETURN_CODE": "skip_status"}
# All run where they are unpacked; order and places follow from the locks.
WITHOUT_MEANING = {"WORKING_DIRECTORY", "COST", "PROCESSORS", "_BACKTRACE_TRIPLES"}
# Every Linux has its own, which go together: what is brought along may be too new for it.
SYSTEM_LIBRARIES = re.compile(
    r"ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|cuda|stdc\+\+|gcc_s)\.so")


def die(sentence):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {sentence}")


def words_of(arguments):
    for match in WORD.finditer(arguments):
        quoted = match["quoted"]
        yield re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else match["name"] or \
            match["bare"]


def read_properties(test, words):
    for key, value in zip(words[::2], words[1::2]):
        if key in LISTS:
            test[LISTS[key]] = value.split(";")
        elif key in NUMBERS:
            test[NUMBERS[key]] = int(float(value))
        elif key not in WITHOUT_MEANING:
            test["unknown"] = key


def read_tests(folder):
    """The tests of a build folder and those below it, as CTest would read them."""
    path = folder / "CTestTestfile.cmake"
    tests = {}
    if not path.is_file():  # a folder of sources without tests
        return tests
    for call, arguments in CALL.findall(path.read_text(encoding="utf-8")):
        words = list(words_of(arguments))
        if call == "add_test":
            tests[words[0]] = {"name": words[0], "command": words[1:]}
        elif call == "set_tests_properties":
            read_properties(tests[words[0]], words[2:])
        elif call == "subdirs":
            for subfolder in words:
                tests.update(read_tests(folder / subfolder))
        else:
            die(f"{path} includes a list of tests that a program's run makes; use gdakit_add_test")
    return tests


class Mover:
    """Names files as they will lie in the archive, and remembers which these are."""

    def __init__(self, build, source):
        self.roots = ((f"{build}/", ""), (f"{source}/", "source/"))
        self.files = {}  # name in the archive: where it lies now

    def __call__(self, word):
        for root, prefix in self.roots:
            if word.startswith(root):
                moved = prefix + word[len(root):]
                self.files[moved] = pathlib.Path(word)
                return moved
            if root in word:
                die(f"{word} names a file inside a word; give the file a word of its own")
        return word


def move_test(test, move):
    if "unknown" in test:
        die(f"{test['name']} has the property {test['unknown']}, which scripts/prebuilt_run.py "
            "does not know; teach it both scripts")
    for part in ("command", "files", "environment"):
        if part in test:
            test[part] = [move(word) for word in test[part]]
    test.pop("files", None)
    return test


def cached(build, variable):
    path = build / "CMakeCache.txt"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    match = re.search(rf"^{variable}:\w+=(.*)$", text, re.MULTILINE)
    return match[1] if match else ""


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def add_libraries(files):
    """What the programs are linked with, under the names by which they look for it."""
    for path in [path for path in files.values() if path.is_file() and is_elf(path)]:
        linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for name, found in re.findall(r"^\s*(\S+) => (not found|\S+)", linked, re.MULTILINE):
            if SYSTEM_LIBRARIES.match(name):
                continue
            if found == "not found":
                die(f"{path} needs {name}, which is not here")
            files.setdefault(f"lib/{name}", pathlib.Path(found).resolve())


def write_archive(files, path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 << 20}]
    with tempfile.TemporaryDirectory() as scratch, lzma.open(path, "wb", filters=filters) as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in sorted(files):
                found = files[name]
                if found.is_file() and is_elf(found):
                    found = pathlib.Path(shutil.copy(found, scratch))
                    subprocess.run(["strip", "--strip-unneeded", found], check=True)
                archive.add(found, arcname=name)


def select(tests, arguments):
    """GoogleTest programs are one test each here, named as the program behind the prefix."""
    chosen = [test for test in tests
              if any(re.search(arguments.label_regex, label) for label in test.get("labels", ()))
              and re.search(arguments.tests_regex, test["name"])
              and not (arguments.exclude_regex and
                       re.search(arguments.exclude_regex, test["name"]))]
    if not chosen:
        die(f"no test of {len(tests)} in {arguments.build} is asked for")
    return chosen


def build_programs(build, files, jobs):
    targets = [name for name, path in files.items() if path == build / name]
    subprocess.run(["cmake", "--build", build, "--parallel", str(jobs), "--target", *targets],
                   check=True)


def prepare(folder):
    """An empty folder, but for what an earlier run has left there."""
    left = {"run-tests", "tests.json", "programs.tar.xz"}
    if folder.is_dir() and not {path.name for path in folder.iterdir()} <= left:
        die(f"{folder} has other files in it; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in left:
        (folder / name).unlink(missing_ok=True)


def write_list(path, gpus, tests):
    lines = ",\n".join(json.dumps(test) for test in tests)
    path.write_text(f'{{"gpus": {json.dumps(gpus)}, "tests": [\n{lines}\n]}}\n',
                    encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-L", "--label-regex", default="^gpu$")
    parser.add_argument("-R", "--tests-regex", default="")
    parser.add_argument("-E", "--exclude-regex")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    if cached(build, "GDAKIT_PREBUILT_TESTS") != "ON":
        die(f"{build} is not configured with -D GDAKIT_PREBUILT_TESTS=ON; the preset prebuilt is")
    tests = select(list(read_tests(build).values()), arguments)
    move = Mover(build, cached(build, "CMAKE_HOME_DIRECTORY"))
    tests = [move_test(test, move) for test in tests]
    prepare(arguments.folder)
    build_programs(build, move.files, arguments.jobs)
    add_libraries(move.files)
    write_archive(move.files, arguments.folder / "programs.tar.xz")
    write_list(arguments.folder / "tests.json", cached(build, "GDAKIT_TEST_CUDA_ARCHITECTURES"),
               tests)
    shutil.copy(SCRIPTS / "prebuilt_run.py", arguments.folder / "run-tests")
    megabytes = sum(path.stat().st_size for path in arguments.folder.iterdir()) / 1e6
    print(f"{arguments.folder}: {len(tests)} tests, {len(move.files)} files, {megabytes:.1f} MB")


if __name__ == "__main__":
    main()

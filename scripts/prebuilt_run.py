#!/usr/bin/env python3
"""Runs tests that another machine has built: the folder that scripts/test --pack wrote.

    scripts/test --prebuilt DIR [--label LABEL] [--jobs N] [-R REGEX] [-E REGEX] [--alone]
    DIR/run-tests [--label-regex REGEX] [--jobs N] [-R REGEX] [-E REGEX] [--alone]

Needs python3 alone. DIR is only read; it may lie anywhere. The programs are unpacked below TMPDIR
and removed again.

The tests of a GoogleTest program run in one process, one after the other, and those behind a test
that failed, crashed or took too long in another: on a GPU a new process takes a second. --alone
gives each test a process, as CTest does. Tests that share a GPU take turns. What has to end
is killed with its whole process group. Prints as CTest does. The exit status is 0 if tests ran and
none failed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from typing import NamedTuple

SLOW_SECONDS = 10
DEFAULT_LIMIT = 1500  # seconds, CTest's
CANNOT_START = 126  # the status, as of a shell
GPU_DEVICE = pathlib.Path("/dev/nvidiactl")
BEGUN = re.compile(r"\[ RUN      \] (\S+)")
ENDED = re.compile(r"\[ {1,7}(OK|FAILED|SKIPPED) {1,2}\] ([^\s,]+)")


class Result(NamedTuple):
    name: str
    status: str  # Passed, Skipped, Failed, Timeout
    seconds: float
    output: str = ""
    reason: str = ""  # of a skip

    @property
    def failed(self):
        return self.status not in ("Passed", "Skipped")


def die(sentence):
    sys.exit(f"run-tests: {sentence}")


class Processes:
    """Runs commands in the unpacked tree, each in a process group of its own."""

    def __init__(self, tree):
        self.tree = tree
        self.running = set()
        self.stopped = False
        self.lock = threading.RLock()  # of both; a signal may come to the thread that holds it

    def run(self, test, arguments, on_line):
        """Its exit status, or None if it was killed because `limit` seconds passed since it began
        or on_line, which gets each line that it prints, last returned True."""
        limit = test.get("timeout", DEFAULT_LIMIT)
        try:
            process = self.start(test, arguments)
        except OSError as error:
            on_line(f"{test['command'][0]} cannot be started: {error.strerror}")
            return CANNOT_START
        try:
            in_time = self.read(process, limit, on_line)
        finally:
            self.end(process)
        return process.wait() if in_time else None

    def start(self, test, arguments):
        added = dict(pair.split("=", 1) for pair in test.get("environment", ()))
        command = [self.find(test["command"][0]), *test["command"][1:], *arguments]
        with self.lock:
            if self.stopped:
                raise RuntimeError("the tests were stopped")
            process = subprocess.Popen(
                command, cwd=self.tree, env=os.environ | added, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.running.add(process)
            return process

    def find(self, program):
        inside = self.tree / program
        return str(inside) if inside.exists() else program

    @staticmethod
    def read(process, limit, on_line):
        deadline = time.monotonic() + limit
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                ended = process.poll() is not None
                if not selector.select(min(left, 0.2)):
                    if ended:  # a process that it has left behind holds the pipe
                        break
                    continue
                got = os.read(process.stdout.fileno(), 65536)
                *lines, rest = (rest + got).split(b"\n")
                for line in lines if got else [rest]:
                    if on_line(line.decode(errors="replace")):
                        deadline = time.monotonic() + limit
                if not got:
                    break
            else:
                return False
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()
        self.running.discard(process)

    def end_all(self):
        with self.lock:
            self.stopped = True
            for process in list(self.running):
                self.end(process)


def how_it_ended(status):
    if status is None:
        return "took too long"
    return f"was ended by signal {-status}" if status < 0 else f"exited with {status}"


def matching(patterns, output):
    """The line of the first match of any, or None."""
    for pattern in patterns:
        if match := re.search(pattern, output):
            begin = output.rfind("\n", 0, match.start()) + 1
            return output[begin:].split("\n", 1)[0]
    return None


def judge(test, status, output):
    """(status, reason) as CTest finds it."""
    if status is None:
        return "Timeout", ""
    if status < 0:
        return "Failed", ""
    if status == test.get("skip_status", object()):
        return "Skipped", output.strip().rpartition("\n")[2]
    if (line := matching(test.get("skips", ()), output)) is not None:
        return "Skipped", line
    if matching(test.get("fails", ()), output) is not None:
        return "Failed", ""
    if "passes" in test:
        passed = matching(test["passes"], output) is not None
    else:
        passed = status == 0
    return ("Passed" if passed else "Failed"), ""


class Command:
    """A test that is one command."""

    def __init__(self, test):
        self.test = test
        self.names = [test["name"]]

    def run(self, processes, report):
        begin = time.monotonic()
        lines = []
        status = processes.run(self.test, [], lambda line: lines.append(line))
        output = "\n".join(lines)
        verdict, reason = judge(self.test, status, output)
        output += f"\n{self.test['command'][0]} {how_it_ended(status)}"
        report(Result(self.test["name"], verdict, time.monotonic() - begin, output, reason))


class Program:
    """The tests of a GoogleTest program."""

    def __init__(self, test, listed, alone):
        self.test = test
        self.alone = alone
        self.prefix = test["name"].removesuffix(pathlib.PurePath(test["command"][0]).name)
        self.shown = {name: self.prefix + shown for name, shown in listed}

    @property
    def names(self):
        return list(self.shown.values())

    def choose(self, wanted):
        self.shown = {name: shown for name, shown in self.shown.items() if wanted(shown)}

    def run(self, processes, report):
        left = [name for name in self.shown if "DISABLED_" not in name]
        for name in self.shown.keys() - set(left):
            report(Result(self.shown[name], "Skipped", 0, reason="disabled"))
        while left:
            one = OneProcess(left[:1] if self.alone else left)
            status = processes.run(self.test, one.arguments(), one.on_line)
            for result in one.results(status):
                left.remove(result.name)
                report(result._replace(name=self.shown[result.name]))
            if status != 0 and not one.failed:
                report(Result(self.test["name"] + " (its end)", "Failed", 0, one.rest(status)))


class OneProcess:
    """Some tests of a program, up to the first that fails. Times are from line to line."""

    def __init__(self, names):
        self.names = names
        self.ended = []
        self.current = None
        self.failed = False
        self.lines = []
        self.begin = time.monotonic()

    def arguments(self):
        return ["--gtest_color=no", "--gtest_fail_fast", "--gtest_filter=" + ":".join(self.names)]

    def on_line(self, line):
        """Whether a test begins, or the last one has ended: its limit counts from here."""
        if self.failed:  # what follows is of tests that have yet to run
            return False
        match = BEGUN.search(line)
        if match and match[1] in self.names:
            self.current, self.begin, self.lines = match[1], time.monotonic(), []
            return True
        self.lines.append(line)
        match = ENDED.search(line)
        if match is None or match[2] != self.current:
            return False
        self.end({"OK": "Passed", "FAILED": "Failed", "SKIPPED": "Skipped"}[match[1]])
        return True

    def end(self, status):
        output = "\n".join(self.lines)
        reason = re.search(r": Skipped\n(.*)", output)
        self.ended.append(Result(self.current, status, time.monotonic() - self.begin, output,
                                 reason[1] if reason and status == "Skipped" else ""))
        self.failed = status not in ("Passed", "Skipped")
        self.current, self.lines = None, []

    def rest(self, status):
        return "\n".join([*self.lines, f"the program {how_it_ended(status)}"])

    def results(self, status):
        """Of the tests that were run, or of all where the program does not begin with one."""
        if self.current is not None:
            self.lines.append(f"the program {how_it_ended(status)}")
            self.end("Timeout" if status is None else "Failed")
        if self.ended:
            return self.ended
        reason = next((line for line in self.lines if "no GPU" in line), None)
        if status == 0 and reason is not None:
            return [Result(name, "Skipped", 0, reason=reason) for name in self.names]
        self.failed = True
        return [Result(name, "Failed", 0, self.rest(status)) for name in self.names]


def parse_listed(text):
    """(name, name to show) of each test that --gtest_list_tests prints. As with CTest, types and
    values stand in the place of numbers; names that the program gives them stay."""
    listed = []
    suite = shown_suite = kind = ""
    for line in text.splitlines():
        bare = line.split("#", 1)[0].strip()
        if not line.startswith(" "):
            if re.fullmatch(r"\S+\.", bare):
                typed = re.search(r"/\d+\. +# TypeParam = (.*)", line)
                suite = bare
                shown_suite = re.sub(r"/\d+\.$", ".", bare) if typed else bare
                kind = f"<{typed[1]}>" if typed else ""
        elif suite and bare:
            value = re.sub(r"/\d+[ #]+GetParam\(\) = ", "/", line.strip())
            listed.append((suite + bare, shown_suite + (bare if "#" in value else value) + kind))
    return listed


def list_tests(test, processes, alone):
    lines = []
    status = processes.run(test, ["--gtest_list_tests"], lambda line: lines.append(line))
    listed = parse_listed("\n".join(lines))
    if status != 0 or not listed:
        return None, "\n".join([*lines, f"the program {how_it_ended(status)} and lists no tests"])
    return Program(test, listed, alone), ""


class Reporter:
    """Prints results as they come, and the summary."""

    def __init__(self, total):
        self.total = total
        self.results = []
        self.lock = threading.Lock()

    def __call__(self, result):
        with self.lock:
            self.results.append(result)
            count = len(self.results)
            mark = "   Passed" if result.status == "Passed" else "***" + result.status
            print(f"{count:5}/{self.total} {result.name} {'.' * max(3, 70 - len(result.name))}"
                  f"{mark:>11} {result.seconds:7.2f} sec", flush=True)
            if result.failed:
                print(result.output, flush=True)

    def print_summary(self, seconds):
        slow = [r for r in self.results if r.seconds >= SLOW_SECONDS]
        if slow:
            print(f"\nTests that took {SLOW_SECONDS} s and more:")
            for result in sorted(slow, key=lambda r: -r.seconds):
                print(f"  {result.seconds:.1f} s  {result.name}")
        skipped = [r for r in self.results if r.status == "Skipped"]
        print(f"\nSkipped tests: {len(skipped)}")
        for result in skipped:
            print(f"  {result.name}: {result.reason or 'says no reason'}")
        failed = [r for r in self.results if r.failed]
        passed = 100 * (len(self.results) - len(failed)) // len(self.results)
        print(f"\n{passed}% tests passed, {len(failed)} tests failed out of {len(self.results)}\n"
              f"Minutes of tests: {seconds / 60:.1f}")
        if failed:
            names = (f"  {result.name} ({result.status})" for result in failed)
            print("The following tests FAILED:", *names, sep="\n")


class Schedule:
    """Hands out what can run now: nothing whose locks another one holds."""

    def __init__(self, parts):
        self.waiting = list(parts)
        self.held = set()
        self.changed = threading.Condition()

    def take(self):
        with self.changed:
            while self.waiting:
                for part in self.waiting:
                    if self.held.isdisjoint(part.test.get("locks", ())):
                        self.waiting.remove(part)
                        self.held.update(part.test.get("locks", ()))
                        return part
                self.changed.wait()
            return None

    def give_back(self, part):
        with self.changed:
            self.held.difference_update(part.test.get("locks", ()))
            self.changed.notify_all()


def in_threads(count, work):
    """Runs `work` in so many threads; the first exception of any ends the script."""
    errors = []

    def guarded():
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_parts(parts, jobs, processes, report):
    schedule = Schedule(parts)

    def work():
        while part := schedule.take():
            try:
                part.run(processes, report)
            finally:
                schedule.give_back(part)

    in_threads(jobs, work)


def is_wanted(name, arguments):
    return re.search(arguments.tests_regex, name) and not (
        arguments.exclude_regex and re.search(arguments.exclude_regex, name))


def may_be_wanted(test, arguments):
    """By its label, and by its name where it has one already."""
    labels = test.get("labels", [])
    return any(re.search(arguments.label_regex, label) for label in labels or [""]) and (
        "gtest" in labels or is_wanted(test["name"], arguments))


def find_parts(tests, arguments, processes, report_failure):
    """Single commands, and programs with those of their tests that are wanted."""
    parts = [Command(test) for test in tests if "gtest" not in test.get("labels", ())]
    programs = [test for test in tests if "gtest" in test.get("labels", ())]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        listed = pool.map(lambda test: list_tests(test, processes, arguments.alone), programs)
        for test, (program, output) in zip(programs, listed):
            if program is None:
                report_failure(Result(test["name"], "Failed", 0, output))
                continue
            program.choose(lambda name: is_wanted(name, arguments))
            if program.shown:
                parts.append(program)
    return sorted(parts, key=lambda part: tests.index(part.test))


def read_list(folder):
    if not folder.is_dir():
        die(f"{folder} is not a folder; give the one that scripts/test --pack wrote")
    for name in ("tests.json", "programs.tar.xz"):
        if not (folder / name).is_file():
            die(f"{folder / name} is missing; copy the whole folder that scripts/test --pack wrote")
    return json.loads((folder / "tests.json").read_text(encoding="utf-8"))


def unpack(path, tree):
    with tarfile.open(path) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(tree)


def number_of_jobs(text):
    if re.fullmatch("[1-9][0-9]*", text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a number of jobs")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR", nargs="?",
                        default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("-j", "--jobs", type=number_of_jobs, default=os.cpu_count())
    parser.add_argument("-L", "--label-regex", default="")
    parser.add_argument("-R", "--tests-regex", default="")
    parser.add_argument("-E", "--exclude-regex")
    parser.add_argument("--alone", action="store_true", help="give each test a process of its own")
    return parser.parse_args()


def run_all(tests, gpus, arguments, tree):
    processes = Processes(tree)
    begin = time.monotonic()
    try:
        failures = []
        parts = find_parts(tests, arguments, processes, failures.append)
        if any("gpu" in part.test.get("labels", ()) for part in parts) and not GPU_DEVICE.exists():
            die(f"this machine shows no GPU: there is no {GPU_DEVICE}; run the tests of "
                f"{arguments.folder} where nvidia-smi lists one")
        report = Reporter(len(failures) + sum(len(part.names) for part in parts))
        if report.total == 0:
            die(f"none of the tests in {arguments.folder} is asked for")
        print(f"{report.total} tests of {arguments.folder}, for GPUs {gpus or 'none'}")
        for failure in failures:
            report(failure)
        run_parts(parts, arguments.jobs, processes, report)
        report.print_summary(time.monotonic() - begin)
        if all(result.status == "Skipped" for result in report.results):
            die("no test has run: all were skipped")
        return 1 if any(result.failed for result in report.results) else 0
    finally:
        processes.end_all()


def main():
    arguments = parse_arguments()
    listed = read_list(arguments.folder)
    tests = [test for test in listed["tests"] if may_be_wanted(test, arguments)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="gdakit-tests-") as tree:
        unpack(arguments.folder / "programs.tar.xz", tree)
        return run_all(tests, listed["gpus"], arguments, pathlib.Path(tree))


if __name__ == "__main__":
    sys.exit(main())

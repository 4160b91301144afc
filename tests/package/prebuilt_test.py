#!/usr/bin/env python3
"""Tests that are built here run where neither the sources nor the build folder are.

    prebuilt_test.py SOURCES SCRATCH COMPILER [CCACHE]

Builds tests/package/prebuilt in SCRATCH, packs it, takes the build away, moves what was packed and
runs it without an environment. Prints what unittest prints.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCES, SCRATCH = (pathlib.Path(path) for path in sys.argv[1:3])
COMPILER, CCACHE = sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else ""
SCRIPTS = SOURCES / "scripts"
PACKED = SCRATCH / "moved" / "packed"
BARE = {"PATH": "/usr/bin:/bin"}


packing = ""  # what it printed


def setUpModule():
    global packing
    shutil.rmtree(SCRATCH, ignore_errors=True)
    project, build = SCRATCH / "project", SCRATCH / "build"
    shutil.copytree(SOURCES / "tests/package/prebuilt", project)
    subprocess.run(["cmake", "-G", "Ninja", "-S", project, "-B", build,
                    f"-DGDAKIT_SOURCE_DIR={SOURCES}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                    "-DGDAKIT_PREBUILT_TESTS=ON", "-DCMAKE_BUILD_TYPE=Debug",
                    f"-DGDAKIT_CCACHE={CCACHE}"], check=True, stdout=subprocess.DEVNULL)
    packing = subprocess.run([sys.executable, SCRIPTS / "prebuilt_pack.py", build,
                              SCRATCH / "packed", "--label-regex", ""],
                             check=True, capture_output=True, text=True).stdout
    project.rename(SCRATCH / "project-that-was")
    build.rename(SCRATCH / "build-that-was")
    PACKED.parent.mkdir()
    (SCRATCH / "packed").rename(PACKED)


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, env=BARE)


def prebuilt(*options, folder=PACKED):
    return run([SCRIPTS / "test", "--prebuilt", folder, *options])


class RunsElsewhere(unittest.TestCase):
    """One run of all that needs no GPU, and what is said of it."""

    @classmethod
    def setUpClass(cls):
        cls.ran = prebuilt("--jobs", "2", "-E", "^gpu")
        cls.status = {name: status for name, status in re.findall(
            r"^ +\d+/\d+ (\S+) \.+ +(?:\*\*\*)?(\w+) +[\d.]+ sec$", cls.ran.stdout, re.MULTILINE)}

    def statuses(self, prefix):
        return {name[len(prefix):]: status for name, status in self.status.items()
                if name.startswith(prefix)}

    def test_what_was_packed_is_small_and_whole(self):
        self.assertIn("9 tests, ", packing)
        self.assertEqual({path.name for path in PACKED.iterdir()},
                         {"run-tests", "tests.json", "programs.tar.xz"})
        text = (PACKED / "tests.json").read_text(encoding="utf-8")
        self.assertNotIn(str(SCRATCH), text)
        self.assertEqual(len(json.loads(text)["tests"]), 9)

    def test_the_tests_of_a_program_are_told_apart(self):
        self.assertEqual(self.statuses("Cases."), {
            "FindsItsLibraries": "Passed", "FindsItsPrograms": "Passed",
            "SharesTheProcess": "Passed", "Fails": "Failed", "GoesOnInAnotherProcess": "Passed",
            "Crashes": "Failed", "GoesOnAfterACrash": "Passed", "IsSkipped": "Skipped",
            "Hangs": "Timeout", "GoesOnAfterAHang": "Passed", "DISABLED_IsDisabled": "Skipped"})
        self.assertIn("the program was ended by signal 6", self.ran.stdout)
        self.assertIn("as it shall", self.ran.stdout)

    def test_names_have_types_and_values(self):
        self.assertEqual(self.statuses("Typed."), {"HasAType<int>": "Passed",
                                                   "HasAType<double>": "Passed"})
        self.assertEqual(self.statuses("Some/Given."), {"HasAValue/6": "Passed",
                                                        "HasAValue/7": "Passed"})

    def test_the_environment_is_each_entry_s(self):
        self.assertEqual(self.status["Environment.IsTheTests"], "Failed")
        self.assertEqual(self.status["direct.Environment.IsTheTests"], "Passed")

    def test_commands_are_judged_as_by_ctest(self):
        self.assertEqual(self.statuses("command."), {
            "passes": "Passed", "fails": "Failed", "is_skipped": "Skipped",
            "is_skipped_by_status": "Skipped", "passes_by_what_it_says": "Passed",
            "hangs": "Timeout"})

    def test_what_a_hanging_command_has_started_ends_too(self):
        [child] = re.findall(r"^child (\d+)$", self.ran.stdout, re.MULTILINE)
        stat = pathlib.Path("/proc", child, "stat")
        self.assertIn(stat.read_text().split()[2] if stat.exists() else "gone", ("Z", "gone"))

    def test_the_summary_counts_and_names(self):
        self.assertEqual(self.ran.returncode, 1, self.ran.stderr)
        out = self.ran.stdout
        self.assertIn("Skipped tests: 7\n", out)
        self.assertIn("  Cases.IsSkipped: because of the weather\n", out)
        self.assertIn("  command.is_skipped: no moon: it is day\n", out)
        self.assertIn("78% tests passed, 8 tests failed out of 38\n", out)
        self.assertIn("The following tests FAILED:\n", out)
        self.assertIn("\n  command.hangs (Timeout)\n", out)


class Chooses(unittest.TestCase):
    def test_by_name_and_label(self):
        ran = prebuilt("-R", "Given|passes$")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("100% tests passed, 0 tests failed out of 5\n", ran.stdout)
        ran = prebuilt("-R", "Given|passes$", "--label", "job")
        self.assertIn("100% tests passed, 0 tests failed out of 1\n", ran.stdout)

    def test_a_process_for_each(self):
        ran = prebuilt("-R", "^Cases.(Finds|Shares)", "--alone")
        self.assertIn("66% tests passed, 1 tests failed out of 3\n", ran.stdout)
        self.assertIn("  Cases.SharesTheProcess (Failed)\n", ran.stdout)

    def test_stopped_it_leaves_nothing_behind(self):
        scratch = SCRATCH / "scratch"
        scratch.mkdir()
        run = subprocess.Popen([PACKED / "run-tests", "-R", "^command.(passes$|hangs)", "-j1"],
                               env={**BARE, "TMPDIR": str(scratch)}, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        self.assertIn("2 tests of ", run.stdout.readline())
        self.assertIn("command.passes ", run.stdout.readline())  # the other one runs now, or soon
        run.terminate()
        run.communicate()
        self.assertEqual(run.returncode, 128 + 15)
        self.assertEqual(list(scratch.iterdir()), [])

    def test_and_refuses_to_run_nothing(self):
        ran = prebuilt("-R", "nothing_like_it")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("none of the tests in", ran.stderr)

    def test_where_only_the_folder_is(self):
        ran = run([PACKED / "run-tests", "-R", "command.passes"])
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("out of 2\n", ran.stdout)


class SaysWhatIsMissing(unittest.TestCase):
    def test_a_folder(self):
        ran = prebuilt(folder=SCRATCH / "nowhere")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("nowhere is not a folder; give the one that scripts/test --pack wrote",
                      ran.stderr)

    def test_a_file_of_it(self):
        half = SCRATCH / "half"
        half.mkdir()
        shutil.copy(PACKED / "tests.json", half)
        ran = prebuilt(folder=half)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("programs.tar.xz is missing; copy the whole folder", ran.stderr)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a GPU")
    def test_a_gpu(self):
        ran = prebuilt("--label", "gpu")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("this machine shows no GPU: there is no /dev/nvidiactl", ran.stderr)
        self.assertEqual(ran.stdout, "")

    def test_a_build_for_another_machine(self):
        usual = SCRATCH / "usual"
        usual.mkdir()
        ran = run([sys.executable, SCRIPTS / "prebuilt_pack.py", usual, SCRATCH / "unpacked"])
        self.assertEqual(ran.returncode, 1)
        self.assertIn("is not configured with -D GDAKIT_PREBUILT_TESTS=ON", ran.stderr)
        self.assertFalse((SCRATCH / "unpacked").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

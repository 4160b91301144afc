#!/usr/bin/env python3
"""scripts/bench --gpu --prebuilt, on programs that only pretend. Prints what unittest prints."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "bench"
REPORT = {"bench": "some_bench", "notes": [], "tables": [
    {"name": "bandwidth, one GPU, one way", "title": "t",
     "columns": [{"name": "size", "unit": "B"}, {"name": "BW", "unit": "GB/sec"},
                 {"name": "cudaMemcpy BW", "unit": "GB/sec"}],
     "rows": [[8, 0.1, 0.2], [16, 0.2, 0.4]]}]}
WRITES = f"""#!/bin/sh
[ "$1" = --json ] && echo '{json.dumps(REPORT)}' > "$2"
echo figures of $0
"""
MOE = """#!/bin/sh
echo "on GPU 0 (made up), soft NIC, $2 PEs as threads of one process"
echo "a step of 128 tokens a PE, 29.4 MB each way: dispatch 812.5 us, combine 700.0 us"
echo "verified: 5644 tokens"
"""


class PrebuiltPrograms(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.programs = pathlib.Path(self.scratch.name) / "programs"
        self.results = pathlib.Path(self.scratch.name) / "results"
        self.programs.mkdir()

    def program(self, name, text):
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_bench(self, *options):
        return subprocess.run([sys.executable, BENCH, "--gpu", "--prebuilt", self.programs,
                               "--results", self.results, *options],
                              capture_output=True, text=True)

    def figures(self):
        [path] = self.results.glob("*.json")
        return json.loads(path.read_text(encoding="utf-8"))

    def test_writes_figures_and_plots_beside_them(self):
        self.program("some_bench", WRITES)
        self.program("moe_dispatch", MOE)
        run = self.run_bench("--commit", "abc1234")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("== some_bench\nfigures of", run.stdout)
        kept = self.figures()
        self.assertEqual(kept["results"]["some_bench"], REPORT)
        self.assertEqual(kept["machine"]["commit"], "abc1234")
        self.assertIn("--commit abc1234", kept["machine"]["command"])
        rows = kept["results"]["moe_dispatch"]["tables"][0]["rows"]
        self.assertEqual([row[0] for row in rows], [4, 8])
        self.assertEqual(rows[0][2:], [128, 29.4, 812.5, 700.0, True])
        self.assertEqual([path.name.split("-bandwidth")[1] for path in self.results.glob("*.svg")],
                         ["-one-GPU-one-way.svg"])

    def test_a_failure_is_named_and_the_others_still_run(self):
        self.program("a_bench", "#!/bin/sh\necho broken; exit 3\n")
        self.program("some_bench", WRITES)
        run = self.run_bench()
        self.assertEqual(run.returncode, 1)
        self.assertIn("a_bench failed with status 3", run.stderr)
        self.assertIn("broken", run.stdout)
        self.assertEqual(list(self.figures()["results"]), ["some_bench"])

    def test_a_run_that_is_ended_keeps_what_it_has_measured(self):
        self.program("a_bench", WRITES)
        self.program("b_bench", "#!/bin/sh\nkill -INT $PPID; exec sleep 60\n")
        run = self.run_bench()
        self.assertEqual((run.returncode, run.stderr), (1, "scripts/bench: interrupted\n"))
        self.assertEqual(list(self.figures()["results"]), ["a_bench"])
        self.assertIn("Figures:", run.stdout)

    def test_without_a_gpu_it_says_so_and_writes_nothing(self):
        self.program("a_bench", "#!/bin/sh\necho a_bench: skipped, no GPU; exit 77\n")
        run = self.run_bench()
        self.assertEqual(run.returncode, 77)
        self.assertIn("a_bench: skipped, no GPU", run.stdout)
        self.assertFalse(self.results.exists())

    def test_moe_dispatch_on_the_emulator_is_no_figure_of_a_gpu(self):
        self.program("moe_dispatch", MOE.replace("on GPU 0 (made up)", "on the CPU emulator"))
        run = self.run_bench()
        self.assertEqual(run.returncode, 77)
        self.assertFalse(self.results.exists())

    def test_the_filter_chooses_programs(self):
        self.program("a_bench", "#!/bin/sh\nexit 3\n")
        self.program("some_bench", WRITES)
        self.assertEqual(self.run_bench("--filter", "^some").returncode, 0)

    def test_a_folder_without_programs_is_an_error(self):
        run = self.run_bench()
        self.assertEqual(run.returncode, 1)
        self.assertIn("there is no benchmark of the GPU in", run.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The README's figures of the soft ConnectX follow from bench/results.

Prints what unittest prints.
"""

import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def commits():
    """What bench/results says it was measured at."""
    for path in RESULTS.glob("*.json"):
        commit = json.loads(path.read_text(encoding="utf-8")).get("machine", {}).get("commit")
        if commit:
            yield commit


def measured(bench, name):
    run = json.loads((RESULTS / "vm-2026-11-21-000922.json").read_text(encoding="utf-8"))
    return next(row for row in run["results"][bench] if row["name"].startswith(name))


def percent_of_memcpy(bench, name, memcpy):
    speed = measured(bench, name)["bytes_per_second"]
    return round(100 * speed / measured(bench, memcpy)["bytes_per_second"])


class Readme(unittest.TestCase):
    def test_names_the_commits_of_the_kept_results(self):
        named = re.findall(r"commit ([0-9a-f]{7}(?: and changes)?)", README)
        self.assertTrue(named)
        self.assertLessEqual(set(named), set(commits()))

    def test_says_what_part_of_memcpys_speed_each_wire_reaches(self):
        said = re.search(r"64 KiB writes run at (\d+) % of memcpy in the engine, at (\d+) % "
                         r"between PEs that are threads, and at (\d+) % between processes", README)
        engine = min(percent_of_memcpy("softnic_bench", f"LargeWrites/buffer:{size}",
                                       f"MemcpySameBytes/buffer:{size}")
                     for size in (1 << 20, 64 << 20))
        wires = [percent_of_memcpy("path_bench", f"Bandwidth/{wire}/65536",
                                   f"Memcpy/{wire}/65536") for wire in ("threads", "processes")]
        self.assertEqual([int(part) for part in said.groups()], [engine, *wires])


if __name__ == "__main__":
    unittest.main()

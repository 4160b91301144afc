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


def measured(bench, name, counter):
    """A counter of the benchmarks of that name, by the rest of their names."""
    run = json.loads((RESULTS / "xeon-2026-11-26-041219.json").read_text(encoding="utf-8"))
    return {row["name"].removesuffix("/manual_time").removeprefix(name): row[counter]
            for row in run["results"][bench] if row["name"].startswith(name)}


def percents_of_memcpy(bench, name, memcpy):
    """By the bytes of the buffer."""
    memcpy_speeds = measured(bench, memcpy, "bytes_per_second")
    return {int(buffer.rpartition(":")[2]): round(100 * speed / memcpy_speeds[buffer])
            for buffer, speed in measured(bench, name, "bytes_per_second").items()}


# Rows of the README's table of posts: who posts and how it is called there, and in the results.
POSTERS = {
    ("1 thread", "exclusive queue"): ("1 thread", "exclusive"),
    ("1 thread", "shared queue"): ("1 thread", "shared"),
    ("1 warp together", "shared"): ("1 warp together", "shared"),
    ("1 block, 8 warps together", "shared"): ("1 block, 8 warps together", "shared"),
    ("132 blocks of 1 thread", "one shared queue"): ("132 x 1 thread", "shared"),
    ("132 x 32 threads, each alone", "one shared queue"): ("132 x 32 threads alone", "shared"),
    ("132 x 8 warps together", "one shared queue"): ("132 x 8 warps together", "shared"),
    ("132 warps together", "one shared queue"): ("132 x 1 warp together", "shared"),
    ("132 threads, a queue each", "exclusive"): ("132 x 1 thread, own QPs", "exclusive"),
}


def posts():
    """The rows of the README's run with a doorbell for each post, by posters and policy."""
    commit = re.search(r"8-byte puts on an H200 \(.*?commit ([0-9a-f]{7})", README)[1]
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("h200-*.json")]
    [run] = [run for run in runs if run.get("machine", {}).get("commit") == commit]
    tables = run["results"]["posting_gpu_bench"]["tables"]
    [table] = [table for table in tables if table["name"] == "posting"]
    names = [(column["name"], column["unit"]) for column in table["columns"]]
    rows = [dict(zip(names, row)) for row in table["rows"]]
    return {(row["posters", ""], row["policy", ""]): row for row in rows
            if row["doorbell", ""] == "each"}


def rows_of_posts():
    """The README's rows as lists of cells."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| posters |")) + 2
    for line in lines[begin:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


class Readme(unittest.TestCase):
    def assert_rounded(self, said, figure):
        """What is said is the figure, to the last digit that is said."""
        digits = said.replace(",", "")
        step = 10.0 ** -len(digits.partition(".")[2])
        self.assertLessEqual(abs(float(digits) - figure), step / 2 * 1.0001, (said, figure))

    def test_says_what_a_post_takes(self):
        measured_posts = posts()
        said = list(rows_of_posts())
        self.assertEqual({(row[0], row[1]) for row in said}, set(POSTERS))
        for posters, policy, ns, rate, counts, chain in said:
            name, kind = POSTERS[posters, policy]
            row = measured_posts[name, kind]
            self.assert_rounded(ns, row["a put", "ns"])
            self.assert_rounded(rate, row["puts", "M/s"])
            for count, of in zip(counts.split(", "), ("atomics", "fences"), strict=True):
                self.assert_rounded(count, row[of, ""])
            if chain:
                self.assert_rounded(chain, measured_posts[name, "chain"]["puts", "M/s"])

    def test_names_the_commits_of_the_kept_results(self):
        named = re.findall(r"commit ([0-9a-f]{7}(?: and changes)?)", README)
        self.assertTrue(named)
        self.assertLessEqual(set(named), set(commits()))

    def test_says_what_part_of_memcpys_speed_each_wire_reaches(self):
        said = re.search(r"64 KiB writes run at (\d+) % of memcpy in the engine, at (\d+) % "
                         r"between PEs that are threads, and at (\d+) % between processes, where "
                         r"it is least: that is beyond the caches, and (\d+) % within", README)
        engine = percents_of_memcpy("softnic_bench", "LargeWrites/", "MemcpySameBytes/")
        threads, processes = [percents_of_memcpy("path_bench", f"Bandwidth/{wire}/65536",
                                                 f"Memcpy/{wire}/65536")
                              for wire in ("threads", "processes")]
        within, beyond = 8 << 20, 64 << 20
        self.assertEqual([int(part) for part in said.groups()],
                         [min(engine.values()), min(threads.values()), processes[beyond],
                          processes[within]])
        self.assertLess(processes[beyond], processes[within])

    def test_says_how_long_a_put_takes_and_how_many_the_engine_does(self):
        said = re.search(r"does (\d+) million 8-byte writes .* quiet takes ([\d.]+) us between "
                         r"threads and ([\d.]+) us between processes", README)
        [rate] = measured("softnic_bench", "EightByteWrites", "items_per_second").values()
        self.assert_rounded(said[1], rate / 1e6)
        for us, wire in zip(said.groups()[1:], ("threads", "processes"), strict=True):
            [seconds] = measured("path_bench", f"RoundTrip/{wire}", "per_trip").values()
            self.assert_rounded(us, seconds * 1e6)


if __name__ == "__main__":
    unittest.main()

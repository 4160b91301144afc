"""What nvcc makes of a put and of a quiet: registers, local memory, stores and orders.

    ptx_test.py NVCC ROOT

Compiles ptx_kernels.cu for Hopper and reads the PTX and what ptxas says of it.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

NVCC, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])

# The orders of device/order.h that a kernel has, as "instruction kind scope"; nic stands for both
# of its meanings. What is refused or stalls files a report, by ReportBeforeState.
WAITS = {
    "ld acquire gpu": "SlotFreeBeforeReuse",
    "ld acquire sys": "CompletionBeforeUse",
    "atom release gpu": "CompletionForOthers, PublishReady, PassBaton",
    "st release sys": "ReportBeforeState, WqeBeforeProxyIndex",
}
RINGS = {
    "fence release gpu": "WqeBeforeDoorbellRecord, RecordBeforeDoorbell, WqeBeforeDoorbell",
    "fence release sys": "the same, where queues lie in host memory",
}
CARRIES = {"fence acquire gpu": "ReadyBeforeRing"}
DIRECT = {"fence sc sys": "DirectComplete"}
EXPECTED = {
    "put_exclusive": WAITS | RINGS,
    "put_loop": WAITS | RINGS | CARRIES,
    "put_shared": WAITS | RINGS | CARRIES,
    "put_value_shared": WAITS | RINGS | CARRIES,
    "quiet": WAITS | RINGS | CARRIES | DIRECT,
}
MAX_REGISTERS = 128  # so many leave 16 warps room on an SM


def compile_kernels():
    """(PTX by kernel, ptxas' words by kernel)."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [NVCC, "-std=c++20", "-O3", f"-I{ROOT}", "-Werror=all-warnings",
                   "-gencode=arch=compute_90,code=sm_90", "-Xptxas=-v", "--keep",
                   f"--keep-dir={scratch}", "-c", ROOT / "tests/device/ptx_kernels.cu", "-o",
                   pathlib.Path(scratch) / "kernels.o"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"nvcc failed:\n{run.stdout}{run.stderr}")
        ptx = (pathlib.Path(scratch) / "ptx_kernels.ptx").read_text(encoding="utf-8")
    parts = re.split(r"\.visible \.entry (\w+)\(", ptx)
    said = re.split(r"Compiling entry function '(\w+)'", run.stdout + run.stderr)
    return (dict(zip(parts[1::2], parts[2::2])), dict(zip(said[1::2], said[2::2])))


KINDS = ("acquire", "release", "acq_rel", "sc")
PTX, SAID = compile_kernels()


def orders_of(kernel):
    """How often each ordering instruction stands in a kernel."""
    found = collections.Counter()
    for line in PTX[kernel].splitlines():
        words = re.match(r"\s*(?:@!?%\w+ )?(fence|ld|st|atom|red)((?:\.\w+)+)", line)
        if not words:
            continue
        kinds = [word for word in words[2].split(".") if word in KINDS]
        scopes = [word for word in words[2].split(".") if word in ("cta", "gpu", "sys")]
        if kinds:
            found[f"{words[1]} {kinds[0]} {scopes[0]}"] += 1
    return found


def orders_of_header():
    """The (kind, scope) pairs that device/order.h names; nic counts as gpu and as sys."""
    text = (ROOT / "device/order.h").read_text(encoding="utf-8")
    pairs = set()
    for kind, scope in re.findall(
            r"kind = Kind::(\w+);\s*static constexpr Scope scope = Scope::(\w+);", text):
        for real in {"nic": ("gpu", "sys"), "system": ("sys",), "block": ("cta",)}.get(
                scope, (scope,)):
            pairs.add((kind, real))
    return pairs


class Code(unittest.TestCase):
    def test_needs_no_local_memory(self):
        for kernel in EXPECTED:
            with self.subTest(kernel):
                self.assertIn("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                              SAID[kernel])
                self.assertNotIn(".local", PTX[kernel])

    def test_leaves_registers_for_the_rest_of_a_kernel(self):
        for kernel in EXPECTED:
            with self.subTest(kernel):
                used = int(re.search(r"Used (\d+) registers", SAID[kernel])[1])
                self.assertLessEqual(used, MAX_REGISTERS)

    def test_stores_a_wqe_in_three_segments_of_16_bytes_or_of_dc_six_or_a_command_in_two(self):
        for kernel in ("put_exclusive", "put_shared", "put_value_shared"):
            with self.subTest(kernel):
                self.assertEqual(PTX[kernel].count("st.weak.global.v2.b64"), 3 + 3 + 2)

    # With a record, and without one: blocks of the two stand in any order.
    def test_rings_by_an_mmio_store_behind_two_fences_or_behind_one(self):
        for kernel in ("put_exclusive", "put_shared", "put_value_shared"):
            with self.subTest(kernel):
                self.assertEqual(PTX[kernel].count("st.mmio.relaxed.sys.global.b64"), 2)
                before = PTX[kernel].rsplit("st.mmio", 1)[0].split("st.weak.global.v2.b64")[-1]
                fences = re.findall(r"fence\.release\.(gpu|sys);", before)
                self.assertEqual(collections.Counter(fences), {"gpu": 2 + 1, "sys": 2 + 1})

    def test_has_the_orders_that_the_protocol_names_and_no_other(self):
        for kernel, expected in EXPECTED.items():
            with self.subTest(kernel):
                self.assertEqual(set(orders_of(kernel)), set(expected))

    def test_has_no_order_that_the_header_does_not_name(self):
        named = orders_of_header()
        self.assertIn(("release", "gpu"), named)
        for kernel in EXPECTED:
            for order in orders_of(kernel):
                with self.subTest(f"{kernel}: {order}"):
                    _, kind, scope = order.split()
                    self.assertIn((kind, scope), named)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

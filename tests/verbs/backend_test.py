#!/usr/bin/env python3
"""PEs as processes that meet by backend mlx5-emulated: by libibverbs and libmlx5, on soft NICs.

    tests/verbs/backend_test.py GDAKIT RING_SHIFT

Each call to a NIC comes from these libraries. What PEs exchange is seen in captures of these NICs;
and where there is no such NIC the PEs say so.
"""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import client

PES = 2


def told(ran):
    return {line.split("] ", 1)[-1] for line in ran.stdout.splitlines()}


def expect(good, what, ran):
    if not good:
        sys.exit(f"{what}\n{ran.returncode}\n{ran.stdout}{ran.stderr}")


def check_two_ports(gdakit, job, wanted):
    """Each PE's queues go by the ports that it takes, which the log names."""
    cases = (
        ("ports=2", {}, {0: [1], 1: [2]}),
        ("ports=2", {"GDAKIT_HCA_LIST": "mlx5_0:2"}, {0: [2], 1: [2]}),
        ("ports=2,port=down:1", {}, {0: [2], 1: [2]}),
        ("ports=2", {"GDAKIT_HCA_LIST": "mlx5_0:1,mlx5_0:2", "GDAKIT_NICS_PER_PE": "2"},
         {0: [1, 2], 1: [1, 2]}),
        ("ports=2", {"GDAKIT_HCA_MAP": "mlx5_0:2+mlx5_0:1", "GDAKIT_NICS_PER_PE": "2",
                     "GDAKIT_QUEUE_TYPE": "dc"}, {0: [2, 1], 1: [2, 1]}),
    )
    for (fail, variables, ports), link in itertools.product(cases, ("roce", "ib")):
        os.environ.update(variables)
        ran = client.Fabric(gdakit, "--link", link, "--fail", fail).run(*job)
        taken = {pe: [int(port) for port in re.findall(
            rf"^.*\b{pe}\b.*NIC mlx5_0, port (\d):", ran.stderr, re.MULTILINE)] for pe in ports}
        expect(ran.returncode == 0 and told(ran) == wanted and taken == ports,
               f"PEs take ports {taken} where {ports} are wanted", ran)
        for name in variables:
            del os.environ[name]


def main():
    gdakit, ring_shift = sys.argv[1:3]
    client.require("ibv_devices")
    os.environ.update(GDAKIT_BACKEND="mlx5-emulated", GDAKIT_DEVICE="cpu")
    job = (gdakit, "run", "-n", str(PES), ring_shift)
    wanted = {f"PE {pe} of {PES} received {(pe - 1) % PES}" for pe in range(PES)}
    for options in ((), ("--link", "ib"), ("--nics", "2")):
        with tempfile.TemporaryDirectory() as folder:
            ran = client.Fabric(gdakit, *options, "--pcap", folder).run(*job)
            expect(ran.returncode == 0 and told(ran) == wanted, "the ring did not turn", ran)
            # A PE opens all NICs and takes one.
            sizes = [path.stat().st_size for path in pathlib.Path(folder).glob("*.pcapng")]
            expect(sum(size > 1000 for size in sizes) == PES, f"captures have {sizes} bytes", ran)
    os.environ["GDAKIT_LOG"] = "info"
    check_two_ports(gdakit, job, wanted)
    counted = client.Fabric(gdakit).run(*job)
    os.environ["GDAKIT_LOG"] = "warn"
    calls = re.findall(r"calls to soft NICs: (\d+) through libibverbs and libmlx5, (\d+) from",
                       counted.stderr)
    expect(len(calls) == PES and all(int(by) > 50 and int(others) == 0 for by, others in calls),
           "not all calls come through the libraries", counted)
    by_run = subprocess.run(job, capture_output=True, text=True, check=False)
    expect(by_run.returncode == 0 and told(by_run) == wanted, "gdakit run gives no NICs", by_run)
    alone = subprocess.run([ring_shift], capture_output=True, text=True, check=False)
    expect(alone.returncode == 1 and "this process has no soft ConnectX" in alone.stderr,
           "a program without NICs does not say so", alone)
    os.environ["GDAKIT_BACKEND"] = "mlx5"
    by_mlx5 = client.Fabric(gdakit).run(*job)
    expect(by_mlx5.returncode == 0 and told(by_mlx5) == wanted, "mlx5 does the same", by_mlx5)
    os.environ["GDAKIT_HCA_LIST"] = "nobodys_nic"
    ran = client.Fabric(gdakit).run(*job)
    expect(ran.returncode == 1 and "GDAKIT_HCA_LIST names nobodys_nic" in ran.stderr,
           "PEs without a NIC do not say so", ran)


if __name__ == "__main__":
    main()

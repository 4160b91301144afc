#!/usr/bin/env python3
"""ucx_perftest over one of UCX's transports of verbs, on soft ConnectXes.

    tests/verbs/ucx_test.py GDAKIT TRANSPORT GROUP

A server and a client run a group of tests, one after the other. Both must end with status 0 and
without a warning, and the client must print figures of each test. ucx_perftest compares no
contents. The exit status is 77 where it is not installed.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True

import client

# Few: with other programs on the cores, each message waits for a turn of the scheduler.
SIZES = ((1, 20), (200, 20), (4096, 20), (65536, 10), (1 << 20, 4))


def at_sizes(*tests):
    return [f"-t {test} -s {size} -n {count} -w 2" for test in tests for size, count in SIZES]


def alone(*tests):
    return [f"-t {test} -s 8 -n 20 -w 2" for test in tests]


# Of the layer below, by the ways in which it can take data.
SHORT = [f"-t {test} -D short -s 8 -n 20 -w 2" for test in ("am_lat", "am_bw")]
COPIED = [f"-t {test} -D {layout} -s 2048 -n 20 -w 2"
          for test in ("am_lat", "am_bw") for layout in ("bcopy", "zcopy")]
REMOTE = [f"-t {test} -D {layout} -s {size} -n 10 -w 2" for test in ("put_lat", "put_bw", "get")
          for layout, size in (("bcopy", 2048), ("zcopy", 2048), ("zcopy", 1 << 20))]

GROUPS = {
    "tag": at_sizes("tag_lat", "tag_bw", "tag_sync_lat"),
    "active_messages": at_sizes("ucp_am_lat", "ucp_am_bw"),
    "stream": at_sizes("stream_lat", "stream_bw"),
    "remote": at_sizes("ucp_put_lat", "ucp_put_bw", "ucp_get") +
              alone("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap"),
    "rendezvous_get": at_sizes("tag_bw"),
    "rendezvous_put": at_sizes("tag_bw"),
    "below": SHORT + COPIED,
    "below_remote": SHORT + COPIED + REMOTE + alone("add_lat", "add_mr", "fadd", "cswap"),
}


def prepare_environment(transport, group):
    os.environ.update(client.ucx_variables(transport))
    if group.startswith("rendezvous_"):
        os.environ.update(UCX_RNDV_THRESH="1024",
                          UCX_RNDV_SCHEME=group.removeprefix("rendezvous_") + "_zcopy")


def problems_of(output, tests):
    """What is wrong with a client's output: it prints a line of figures for each test."""
    figures = {}
    for line in output.splitlines():
        words = line.split(",")
        if words[0].startswith("test_"):
            figures[words[0]] = [float(word) for word in words[1:]]
    for index, test in enumerate(tests):
        found = figures.get(f"test_{index}")
        if not found:
            yield f"no figures of {test}"
        elif min(found) < 0 or found[0] <= 0 or max(found[-2:]) <= 0:
            yield f"figures of {test}: {found}"


def main():
    gdakit, transport, group = sys.argv[1:]
    client.require("ucx_perftest")
    prepare_environment(transport, group)
    tests = GROUPS[group]
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as batch:
        batch.writelines(f"test_{index} {test}\n" for index, test in enumerate(tests))
        batch.flush()
        words = ["ucx_perftest", "-b", batch.name, "-f", "-v"]
        if group.startswith("below"):
            words += ["-d", "mlx5_0:1", "-x", transport.removesuffix("_without_devx")]
        outputs, statuses = client.run_pair(client.Fabric(gdakit), words)
    wrong = [] if statuses == [0, 0] else [f"client and server ended with {statuses}"]
    wrong += [f"it said: {line}" for output in outputs for line in output.splitlines()
              if "UCX  " in line or "ssert" in line]
    wrong += problems_of(outputs[0], tests)
    print(f"--- client\n{outputs[0]}\n--- server\n{outputs[1]}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""mckey of librdmacm on soft ConnectXes: one sends to a multicast group, two receive.

    tests/verbs/multicast_test.py GDAKIT [OPTION]...

Options are those of gdakit verbs. The exit status is 77 where mckey is not installed.
"""

import sys
import time

sys.dont_write_bytecode = True

import client

RECEIVERS = 2
WORDS = ("mckey", "-m", "239.1.2.3", "-b", "127.0.0.1", "-C", "100", "-S", "1000")


def members(fabric):
    """How many queue pairs are in groups of the fabric."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as names:
        return names.read().count(f"/{fabric.name}/g/")


def main():
    client.require("mckey")
    gdakit, *options = sys.argv[1:]
    fabric = client.Fabric(gdakit, *options)
    receivers = [fabric.start(*WORDS) for _ in range(RECEIVERS)]
    limit = time.monotonic() + client.PATIENCE_S
    while members(fabric) < RECEIVERS and time.monotonic() < limit:
        time.sleep(0.02)
    sender = fabric.start(*WORDS, "-s")
    outputs, statuses = client.wait_for_pair([sender, *receivers])
    for output, status in zip(outputs, statuses):
        print(f"--- status {status}\n{output}")
    print(f"left over: {members(fabric)}")
    return 0 if statuses == [0] * (1 + RECEIVERS) and members(fabric) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""rping where a side is killed, where nobody listens, and with a server that goes on.

    tests/verbs/cm_ends_test.py GDAKIT

The exit status is 77 where rping is not installed.
"""

import random
import sys
import time

sys.dont_write_bytecode = True

import client
from cm_pair_test import has_ended_well, wait_until_listening

PATIENCE_S = 60  # by which whoever has lost its peer has ended
ADDRESS = "127.0.0.1"


class Case:
    def __init__(self, gdakit):
        self.fabric = client.Fabric(gdakit, name="cm-ends")
        self.port = random.randrange(10000, 30000)

    def serve(self, *words):
        server = self.fabric.start("rping", "-s", "-p", str(self.port), *words)
        wait_until_listening(server, self.fabric)
        return server

    def call(self, *words, address=ADDRESS):
        return self.fabric.start("rping", "-c", "-a", address, "-p", str(self.port), *words)


def output_of(process):
    return process.communicate(timeout=PATIENCE_S)[0]


def expect(text, output):
    if text not in output:
        sys.exit(f"no {text!r} in:\n{output}")


def wait_until_talking(fabric, process, packets=1):
    """Until the program has sent so many packets over its queue pairs, as `gdakit verbs ls` says,
    or has ended."""
    limit = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < limit:
        rows = [line.split() for line in fabric.ask("ls").stdout.splitlines()[1:]]
        if any(row[1] == str(process.pid) and int(row[6]) >= packets for row in rows):
            return
        time.sleep(0.05)


def kill_one(case, victim):
    """Returns what the other one says."""
    pair = [case.serve("-C", "1000000"), case.call("-C", "1000000")]
    for one in pair:
        wait_until_talking(case.fabric, one)
    pair[victim].kill()
    output = output_of(pair[1 - victim])
    pair[victim].communicate()
    return output


def several_clients(case):
    """The server has one request in hand: of two that come before it has looked, rping loses one,
    whatever the NIC (rdma-core 6f8e005, which is in 57, mends it). So a client begins when the one
    before is connected."""
    server = case.serve("-P", "-S", "5000")
    clients = []
    for size in range(1, 5):
        clients.append(case.call("-C", "20", "-V", "-S", str(1000 * size)))
        wait_until_talking(case.fabric, clients[-1])
    outputs = [output_of(one) for one in clients]
    statuses = [one.returncode for one in clients]
    if not all(map(has_ended_well, statuses, outputs)) or server.poll() is not None:
        sys.exit(f"clients ended with {statuses}: {outputs}")
    server.kill()
    server.communicate()


def main():
    client.require("rping")
    gdakit = sys.argv[1]
    expect("REJECTED, error 8", output_of(Case(gdakit).call("-C", "1")))
    expect("ADDR_ERROR, error -19", output_of(Case(gdakit).call("-C", "1", address="10.9.8.7")))
    expect("server DISCONNECT EVENT", kill_one(Case(gdakit), 1))
    expect("client DISCONNECT EVENT", kill_one(Case(gdakit), 0))
    several_clients(Case(gdakit))
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Programs on soft ConnectXes that are killed at any moment, and what becomes of their peers.

    tests/verbs/kill_test.py GDAKIT [ROUNDS [SEED]]

In each round a server and a client run, one of them is killed, and the other one has to end by
itself: by an error of its transport, or as the socket to its peer closes. It may not crash. A
pingpong that waits for a message and has sent all of its own hears nothing of its peer's end, as on
hardware: such ones are ended and counted. At the end nothing may be left of the fabric. Prints the
seed and the figures. The exit status is 77 where the programs are not installed.
"""

import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import client

PROGRAMS = (
    # The command, and for how many seconds its survivor may go on.
    (("ibv_rc_pingpong", "-g", "1", "-n", "100000000"), 4),
    (("ib_write_bw", "-F", "-x", "1", "-n", "1000000", "-s", "65536"), client.PATIENCE_S),
)
LONGEST_S = 0.3  # after the two have met


def start_pair(fabric, words):
    """A server and a client that have met."""
    port = client.free_port()
    command = [words[0], "-p", str(port), *words[1:]]
    server = fabric.start(*command)
    limit = time.monotonic() + client.PATIENCE_S
    while not client.listens(port) and server.poll() is None and time.monotonic() < limit:
        time.sleep(0.005)
    other = fabric.start(*command, "127.0.0.1")
    while client.listens(port) and time.monotonic() < limit:
        time.sleep(0.001)
    return [server, other]


def end(survivor, patience_s):
    """What becomes of a survivor, in a word."""
    try:
        survivor.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        survivor.terminate()
        survivor.communicate(timeout=client.PATIENCE_S)
        return "waited"
    if survivor.returncode < 0:
        return signal.Signals(-survivor.returncode).name
    return "ended"


def play(fabric, dice, round_number):
    """One round. Returns what became of the survivor, and how many seconds that took."""
    words, patience_s = PROGRAMS[round_number % len(PROGRAMS)]
    pair = start_pair(fabric, words)
    time.sleep(dice.uniform(0, LONGEST_S))
    victim = dice.randrange(2)
    pair[victim].kill()
    killed = time.monotonic()
    fate = end(pair[1 - victim], patience_s)
    took_s = time.monotonic() - killed
    pair[victim].communicate()
    return (words[0], fate), took_s


def left_over(fabric, temporary):
    """What is left of the fabric, where nothing may be."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as names:
        left = [line.split()[-1] for line in names if f"/{fabric.name}/" in line]
    left += [str(path) for path in pathlib.Path("/dev/shm").glob("*gdakit*")]
    folders = list(pathlib.Path(temporary).iterdir())
    left += [str(path) for path in folders if path.name != f"gdakit-verbs-{os.getuid()}"]
    left += [str(path) for folder in folders for path in folder.glob("new-*")]
    return left


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    client.require(*(words[0] for words, _ in PROGRAMS))
    dice = random.Random(seed)
    fates, longest_s = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary
        fabric = client.Fabric(sys.argv[1])
        for round_number in range(rounds):
            fate, took_s = play(fabric, dice, round_number)
            fates[fate] += 1
            longest_s[fate] = max(longest_s[fate], took_s)
        left = left_over(fabric, temporary)
    print(f"seed {seed}, {rounds} rounds")
    for fate, count in sorted(fates.items()):
        print(f"{count:6} {' '.join(fate)}, in {longest_s[fate]:.1f} s at most")
    print(f"left over: {left}")
    allowed = {("ibv_rc_pingpong", "waited"), *((words[0], "ended") for words, _ in PROGRAMS)}
    return 0 if set(fates) <= allowed and not left else 1


if __name__ == "__main__":
    sys.exit(main())

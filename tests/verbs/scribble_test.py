#!/usr/bin/env python3
"""Programs on soft ConnectXes while another process of the user scribbles over their fabric.

    tests/verbs/scribble_test.py GDAKIT [ROUNDS [SEED]]

The fabric's shared memory belongs to the user, so that any process of that user may write to it. In
each round a server and a client run, and random bytes are written at random moments: over the
header and the claims, and over indices and packets of the first places. Whatever the programs say:
neither may end by a signal, and one whose peer has ended, or that waits for an acknowledge, has to
end by itself. Programs that come afterwards find the fabric as if nothing had been. Prints the seed
and the figures. The exit status is 77 where the programs are not installed.
"""

import collections
import os
import random
import sys
import threading
import time

sys.dont_write_bytecode = True

import client
import kill_test

# Each with how often it does it.
PINGPONG = kill_test.GROUPS["verbs"][0]
WRITER = kill_test.Program("ib_write_bw", ("ib_write_bw", "-F", "-x", "1", "-s", "4096", "-n"))
PROGRAMS = ((PINGPONG, 5000), (WRITER, 20000))

# Where things lie in the memory: backends/softnic/wire/shm_wire.h.
PLACES = 64
HEADER_BYTES = 4096
CALLERS_END = HEADER_BYTES + (64 + 64) * PLACES
RING_BYTES = 256  # of indices, and what is recalled
SLOT_BYTES, SLOTS = 192, 256
SLOTS_BEGIN = CALLERS_END + RING_BYTES * PLACES * PLACES


def memory_of(fabric):
    """The memory of the fabric's members, by a descriptor; None while there are none."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as names:
        for line in names:
            if f"/{fabric.name}/member/" not in line:
                continue
            pid, file = line.split("/member/")[1].split("/")[:2]
            try:
                return os.open(f"/proc/{pid}/fd/{file}", os.O_RDWR)
            except OSError:
                pass
    return None


def anywhere(dice):
    """An offset at which something is likely to lie."""
    ring = dice.randrange(3) * PLACES + dice.randrange(3)
    kind = dice.randrange(4)
    if kind == 0:
        return dice.randrange(CALLERS_END)
    if kind < 3:
        return CALLERS_END + ring * RING_BYTES + dice.choice((0, 64, 128, 192))
    return SLOTS_BEGIN + (ring * SLOTS + dice.randrange(SLOTS)) * SLOT_BYTES + dice.randrange(128)


class Scribbler(threading.Thread):
    """Writes until it is told to stop."""

    def __init__(self, fabric, seed):
        super().__init__()
        self.fabric = fabric
        self.dice = random.Random(seed)
        self.over = threading.Event()
        self.written = 0

    def run(self):
        memory = None
        while memory is None and not self.over.is_set():
            memory = memory_of(self.fabric)
            time.sleep(0.001)
        while not self.over.wait(self.dice.expovariate(100)):
            os.pwrite(memory, self.dice.randbytes(self.dice.choice((1, 4, 8))),
                      anywhere(self.dice))
            self.written += 1
        if memory is not None:
            os.close(memory)

    def stop(self):
        self.over.set()
        self.join()


def play(fabric, dice, round_number):
    """One round. Returns the program, what became of both, and how often was written."""
    program, count = PROGRAMS[round_number % len(PROGRAMS)]
    pair = kill_test.Pair(fabric, program, count)
    pair.wait_until_met()
    time.sleep(dice.uniform(0, 0.05))
    scribbler = Scribbler(fabric, dice.randrange(1 << 32))
    scribbler.start()
    fates = [kill_test.end_of(pair, side) for side in (kill_test.CLIENT, kill_test.SERVER)]
    scribbler.stop()
    return [(program.name, fate) for fate in fates], scribbler.written


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    client.require(*(program.words[0] for program, _ in PROGRAMS))
    dice = random.Random(seed)
    fabric = client.Fabric(sys.argv[1])
    fates = collections.Counter()
    written = 0
    for round_number in range(rounds):
        ended, more = play(fabric, dice, round_number)
        fates.update(ended)
        written += more
    works = kill_test.works(fabric, WRITER)
    print(f"seed {seed}, {rounds} rounds, {written} times written to")
    for (program, fate), count in sorted(fates.items()):
        print(f"{count:6} {program} {fate}")
    print(f"a pair afterwards works: {works}")
    allowed = set().union(*(kill_test.may_become(program) for program, _ in PROGRAMS))
    return 0 if set(fates) <= allowed and written and works else 1


if __name__ == "__main__":
    sys.exit(main())

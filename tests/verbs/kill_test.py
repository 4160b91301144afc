#!/usr/bin/env python3
"""Programs on soft ConnectXes that are killed at any moment, and what becomes of their peers.

    tests/verbs/kill_test.py GDAKIT GROUP [ROUNDS [SEED]]

GROUP names programs: verbs; devx, which make their queues by firmware commands; or rdma_cm, which
meet by it. In each round a server and a client run, one of them is killed as they meet or amid
their traffic, and the other one has to end by itself: by an error of its transport, or as it hears
of its peer's end. It may not crash; UCX aborts where its transport reports an error, and says so,
and writes to the socket to its peer without looking, which ends it by a signal. Programs that wait
for a message and send none hear nothing of their peer's end, as on hardware: such ones are ended
and counted. A server that no client has reached by rdma_cm yet has to serve the next one. In the
end a new pair of each program has to work, and nothing may be left of the fabric. Prints the seed
and the figures. The exit status is 77 where the programs are not installed.
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
import typing

sys.dont_write_bytecode = True

import client
from cm_ends_test import wait_until_talking
from cm_pair_test import has_ended_well, wait_until_listening

ADDRESS = "127.0.0.1"
SERVER, CLIENT = range(2)
WAIT_S = 4  # after which who may wait is taken to do so
MANY, FEW = 100000000, 20
IN_TRAFFIC = 1000  # packets that the client has sent
# As UCX has it in the line in which it gives up: of a queue pair's error; of its own transport over
# datagrams, by which the reliable ones meet; and of what that had still to send (1.13's own check).
UCX_REPORTS = ("Transport retry count exceeded", "unhandled timeout error",
               "should have been flushed")


class Program(typing.NamedTuple):
    name: str
    words: typing.Tuple[str, ...]  # of both sides, and how often is the last one's
    of_server: typing.Tuple[str, ...] = ()
    of_client: typing.Tuple[str, ...] = (ADDRESS,)
    longest_s: float = 0.3  # after the two have met
    may_wait: bool = False
    variables: typing.Mapping[str, str] = {}

    def command(self, side, port, count):
        of_side = (self.of_server, self.of_client)[side]
        return [self.words[0], "-p", str(port), *self.words[1:], str(count), *of_side]


def ucx(transport, size):
    """What gives up soon, and in a line. Its server reads what is long, and so hears of errors."""
    limits = {f"UCX_{kind}_{name}": value for kind in ("RC", "DC")
              for name, value in (("TIMEOUT", "20ms"), ("RETRY_COUNT", "3"))}
    return Program(f"ucx_perftest over {transport}, {size} bytes",
                   ("ucx_perftest", "-t", "tag_bw", "-s", str(size), "-w", "10", "-n"),
                   longest_s=1, may_wait=True,
                   variables={**client.ucx_variables(transport), **limits, "UCX_UD_TIMEOUT": "2s",
                              "UCX_HANDLE_ERRORS": "none", "UCX_WARN_UNUSED_ENV_VARS": "n"})


def rping(size):
    return Program(f"rping, {size} bytes", ("rping", "-V", "-S", str(size), "-C"), ("-s",),
                   ("-c", "-a", ADDRESS), longest_s=1)


GROUPS = {
    "verbs": (Program("ibv_rc_pingpong", ("ibv_rc_pingpong", "-g", "1", "-n"), may_wait=True),
              Program("ib_write_bw", ("ib_write_bw", "-F", "-x", "1", "-s", "65536", "-n"))),
    "devx": (ucx("rc_mlx5", 8), ucx("dc_mlx5", 8), ucx("rc_mlx5", 65536), ucx("dc_mlx5", 65536)),
    "rdma_cm": (rping(64), rping(65000)),
}


class Pair:
    """A server and a client of a program that meet: at a port of TCP, or of rdma_cm."""

    def __init__(self, fabric, program, count=MANY):
        self.fabric, self.program, self.count = fabric, program, count
        self.by_rdma_cm = program in GROUPS["rdma_cm"]
        self.port = random.randrange(10000, 30000) if self.by_rdma_cm else client.free_port()
        os.environ.update(program.variables)
        self.ends = [self.start(SERVER)]
        if self.by_rdma_cm:
            wait_until_listening(self.ends[SERVER], fabric)
        else:
            client.wait_until_listening(self.ends[SERVER], self.port)
        self.ends.append(self.start(CLIENT))

    def start(self, side):
        return self.fabric.start(*self.program.command(side, self.port, self.count))

    def wait_until_met(self, packets=0):
        """And until the client has sent so many packets."""
        if packets > 0:
            wait_until_talking(self.fabric, self.ends[CLIENT], packets)
        limit = time.monotonic() + client.PATIENCE_S
        while not self.by_rdma_cm and client.listens(self.port) and time.monotonic() < limit:
            time.sleep(0.001)

    def serves(self):
        """Whether the server, whose client is gone, serves another one."""
        other = self.start(CLIENT)
        wait_until_talking(self.fabric, other)
        served = other.poll() is None
        other.kill()
        other.communicate()
        return served


def end(survivor, patience_s):
    """What becomes of a survivor, in a word."""
    try:
        output, _ = survivor.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        return "waited"
    if survivor.returncode >= 0:
        return "ended"
    fate = signal.Signals(-survivor.returncode).name
    if fate == "SIGABRT" and any(report in output for report in UCX_REPORTS):
        return "reported"
    if fate != "SIGPIPE":
        print(f"ended by {fate}:\n{output}")
    return fate


def end_of(pair, side):
    """As end(), of one side of a pair that has lost its peer; it does not outlive this."""
    survivor = pair.ends[side]
    unreached = pair.by_rdma_cm and side == SERVER
    fate = end(survivor, WAIT_S if pair.program.may_wait or unreached else client.PATIENCE_S)
    if fate != "waited":
        return fate
    if unreached:
        fate = "served" if pair.serves() else "served nobody"
    survivor.kill()
    survivor.communicate()
    return fate


def play(fabric, dice, program):
    """One round. Returns what became of the survivor, and how many seconds that took."""
    pair = Pair(fabric, program)
    pair.wait_until_met(dice.choice((0, IN_TRAFFIC)))
    time.sleep(dice.uniform(0, program.longest_s))
    victim = dice.choice((SERVER, CLIENT))
    pair.ends[victim].kill()
    killed = time.monotonic()
    fate = end_of(pair, 1 - victim)
    took_s = time.monotonic() - killed
    pair.ends[victim].communicate()
    return (program.name, fate), took_s


def works(fabric, program):
    """Whether a pair that nobody kills ends well."""
    outputs, statuses = client.wait_for_pair(reversed(Pair(fabric, program, FEW).ends))
    good = all(map(has_ended_well, statuses, outputs))
    if not good:
        print(f"{program.name} ends with {statuses}:", *outputs, sep="\n")
    return good


def left_over(fabric, temporary):
    """What is left of the fabric, where nothing may be."""
    with open("/proc/net/unix", encoding="ascii", errors="replace") as names:
        left = [line.split()[-1] for line in names if f"/{fabric.name}/" in line]
    left += fabric.ask("ls").stdout.splitlines()[1:]
    left += [str(path) for path in pathlib.Path("/dev/shm").glob("*gdakit*")]
    folders = list(pathlib.Path(temporary).iterdir())
    left += [str(path) for path in folders if path.name != f"gdakit-verbs-{os.getuid()}"]
    left += [str(path) for folder in folders for path in folder.glob("new-*")]
    return left


def may_become(program):
    fates = {"ended"}
    if program.may_wait:
        fates.add("waited")
    if program in GROUPS["rdma_cm"]:
        fates.add("served")
    if "UCX_TLS" in program.variables:
        fates |= {"reported", "SIGPIPE"}
    return {(program.name, fate) for fate in fates}


def main():
    gdakit, group = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 32)
    programs = GROUPS[group]
    client.require(*(program.words[0] for program in programs))
    dice = random.Random(seed)
    fates, longest_s = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary
        fabric = client.Fabric(gdakit)
        for round_number in range(rounds):
            fate, took_s = play(fabric, dice, programs[round_number % len(programs)])
            fates[fate] += 1
            longest_s[fate] = max(longest_s[fate], took_s)
        all_work = all([works(fabric, program) for program in programs])
        left = left_over(fabric, temporary)
    print(f"seed {seed}, {rounds} rounds")
    for fate, count in sorted(fates.items()):
        print(f"{count:6} {' '.join(fate)}, in {longest_s[fate]:.1f} s at most")
    print(f"pairs afterwards work: {all_work}; left over: {left}")
    allowed = set().union(*(may_become(program) for program in programs))
    return 0 if set(fates) <= allowed and all_work and not left else 1


if __name__ == "__main__":
    sys.exit(main())

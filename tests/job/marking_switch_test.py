#!/usr/bin/env python3
"""A job whose hosts all send to one, through a switch that marks what waits for long (ECN).

    tests/job/marking_switch_test.py SCRIPTS_HOSTS INCAST_PE

Runs it without congestion control and with it, and prints what the NICs counted. Data are exact
both times, as the program itself checks. Marks and notifications are counted with congestion
control, and none without it.

The switch's ports send 100 Mbit/s and mark what waits for more than 0.4 ms: by fq_codel, or where
the kernel has none, by marking_port.c, which takes root and a clang that compiles for BPF. The exit
status is 77 where there is neither.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

NOT_HERE = 77
ROUNDS = "5"
BY_CODEL = ["qdisc add dev PORT root handle 1: tbf rate 100mbit burst 16kb limit 2mb",
            "qdisc add dev PORT parent 1:1 fq_codel memory_limit 300kb ecn ce_threshold 400us"]
BY_PROGRAM = ["qdisc add dev PORT root tbf rate 100mbit burst 16kb limit 300kb",
              "qdisc add dev PORT clsact",
              "filter add dev PORT egress bpf direct-action object-file {} section classifier"]
COUNTED = ["np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "retries"]
OF_CONGESTION = COUNTED[:3]


def hosts_with(switch):
    return [sys.argv[1], "--hosts", "5", *(word for one in switch for word in ("--tc", one)), "--"]


def compiled(folder):
    """The commands of a switch that marks by a program; none without a compiler for it."""
    program = f"{folder}/marking_port.o"
    source = pathlib.Path(__file__).with_name("marking_port.c")
    include = "-I/usr/include/" + getattr(sys.implementation, "_multiarch", "")
    try:
        done = subprocess.run(["clang", "-O2", "-g", "-target", "bpf", include, "-c", source,
                               "-o", program], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        print(f"marking_switch_test: {error}", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"marking_switch_test: {done.stderr}", file=sys.stderr)
        return None
    return [command.format(program) for command in BY_PROGRAM]


def choose_switch(folder):
    for switch in (BY_CODEL, compiled(folder)):
        if switch is None:
            continue
        status = subprocess.run([*hosts_with(switch), "true"], check=False).returncode
        if status == 0:
            return switch
        if status != NOT_HERE:
            sys.exit(status)
    sys.exit(NOT_HERE)


def counted(folder):
    sums = dict.fromkeys(COUNTED, 0)
    for file in pathlib.Path(folder).glob("pe*.prom"):
        for line in file.read_text().splitlines():
            name = line.split("{")[0].removeprefix("gdakit_").removesuffix("_total")
            if not line.startswith("#") and name in sums:
                sums[name] += int(line.split()[-1])
    return sums


def run(switch, congestion):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*hosts_with(switch), sys.argv[2], ROUNDS], check=False,
                              env={**os.environ, "GDAKIT_NIC_CONGESTION": congestion,
                                   "GDAKIT_COUNTERS": folder})
        if done.returncode != 0:
            sys.exit(done.returncode)
        found = counted(folder)
    print(f"congestion control {congestion}:",
          ", ".join(f"{name} {found[name]}" for name in COUNTED), flush=True)
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        switch = choose_switch(folder)
        without = run(switch, "off")
        found = run(switch, "on")
    wrong = [f"{name} is {without[name]} without congestion control" for name in OF_CONGESTION
             if without[name] != 0]
    wrong += [f"{name} is 0 with congestion control" for name in OF_CONGESTION if found[name] == 0]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A server and a client of a program that others wrote, on soft ConnectXes of one fabric.

    tests/verbs/pair_test.py GDAKIT [OPTION of gdakit verbs]... -- PROGRAM WORD...

Both must end with status 0, and neither may say that data were invalid, which does not change the
status of the pingpongs. The exit status is 77 where the program is not installed.
"""

import sys

sys.dont_write_bytecode = True

import client


def main():
    words = sys.argv[1:]
    border = words.index("--")
    gdakit, options, program = words[0], words[1:border], words[border + 1:]
    client.require(program[0])
    outputs, statuses = client.run_pair(client.Fabric(gdakit, *options), program)
    for name, output, status in zip(("client", "server"), outputs, statuses):
        said = "had to be ended" if status is None else f"ended with status {status}"
        print(f"--- {name}, which {said}\n{output}")
    invalid = any("invalid data" in output for output in outputs)
    return 0 if statuses == [0, 0] and not invalid else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A program on soft ConnectXes of a fabric of its own.

    tests/verbs/run_test.py GDAKIT [OPTION of gdakit verbs]... -- PROGRAM WORD...

The exit status is the program's, or 77 where it is not installed.
"""

import sys

sys.dont_write_bytecode = True

import client


def main():
    words = sys.argv[1:]
    border = words.index("--")
    gdakit, options, program = words[0], words[1:border], words[border + 1:]
    client.require(program[0])
    ran = client.Fabric(gdakit, *options).run(*program)
    print(ran.stdout + ran.stderr)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())

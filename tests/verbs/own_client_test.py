#!/usr/bin/env python3
"""A client of gdakit's own, over the distribution's pyverbs, on a soft ConnectX.

    tests/verbs/own_client_test.py GDAKIT CLIENT.py

The exit status is the client's, or 77 where pyverbs is not installed.
"""

import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

import client

PYTHON = "/usr/bin/python3"  # the distribution's, whose modules pyverbs is one of


def main():
    client.require(PYTHON)
    probe = subprocess.run([PYTHON, "-c", "import pyverbs"], capture_output=True, check=False)
    if probe.returncode != 0:
        print("skipped: python3-pyverbs is not installed (scripts/setup --optional)")
        return client.NOT_HERE
    here = pathlib.Path(__file__).parent
    ran = client.Fabric(sys.argv[1]).run(PYTHON, "-B", here / sys.argv[2])
    print(ran.stdout + ran.stderr)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())

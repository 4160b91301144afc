#!/usr/bin/env python3
"""A program of verbs in a place where it is not alone, or has little.

    tests/verbs/environment_test.py GDAKIT VERIFY ENVIRONMENT

VERIFY is verbs_verify, whose two processes compare what they send each other. The exit status is 77
where the environment cannot be made here.
"""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

import client

PATIENCE_S = 220
SMALL = ("--queues", "2", "--depth", "4", "--rounds", "2", "--longest", "10000")
AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--")
IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--")

# Each environment: what stands before `gdakit verbs`, and what before the program.
ENVIRONMENTS = {
    "nobody": (AS_NOBODY, ()),
    "user_namespace": (IN_A_NAMESPACE, ()),
    "no_home": (("env", "-u", "TMPDIR", "-u", "HOME"), ()),
    "read_only_home": (("env", "HOME=/proc"), ()),
    "valgrind": ((), ("valgrind", "--tool=none", "--error-exitcode=3")),
    "gdb": ((), ("gdb", "-nx", "-batch", "-ex", "run", "--args")),
    "strace": ((), ("strace", "-f", "-o", "/dev/null")),
}


def can(*words):
    """Whether a command works, without any NIC."""
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100,
                          check=False).returncode == 0


def main():
    gdakit, verify, name = sys.argv[1:]
    before, around = ENVIRONMENTS[name]
    client.require(verify, *before[:1], *around[:1])
    if not can(*before, "test", "-x", verify) or (around and not can(*around, "true")):
        print(f"skipped: {' '.join((*before, *around))} does not work here")
        return client.NOT_HERE
    words = [*before, *client.Fabric(gdakit).words, *around, verify, *SMALL]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         stdin=subprocess.DEVNULL, timeout=PATIENCE_S, cwd=os.sep, check=False)
    print(ran.stdout)
    ended = name != "gdb" or "exited normally" in ran.stdout
    return 0 if ran.returncode == 0 and ended and ran.stdout.count("compared") == 2 else 1


if __name__ == "__main__":
    sys.exit(main())

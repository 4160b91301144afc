#!/usr/bin/env python3
"""A program of MPI's that compares what it gets, by Open MPI over one of UCX's transports of verbs.

    tests/verbs/mpi_test.py GDAKIT PROGRAM RANKS TRANSPORT

The exit status is mpirun's, or 77 where Open MPI or its part for UCX is not installed.
"""

import subprocess
import sys

sys.dont_write_bytecode = True

import client

PATIENCE_S = 220


def main():
    gdakit, program, ranks, transport = sys.argv[1:]
    client.require("mpirun", "ompi_info", program)
    parts = subprocess.run(["ompi_info"], capture_output=True, text=True, check=False).stdout
    if "pml: ucx" not in parts or "osc: ucx" not in parts:
        print("skipped: this MPI is not Open MPI with UCX")
        return client.NOT_HERE
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks,
             "--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", "^openib"]
    variables = client.Fabric(gdakit).variables() | client.ucx_variables(transport)
    # The ranks', and not mpirun's own.
    for name, value in variables.items():
        words += ["-x", f"{name}={value}"]
    try:
        ran = subprocess.run([*words, program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as late:
        print(f"mpirun did not end in {PATIENCE_S} s\n{late.stdout}")
        return 1
    print(ran.stdout)
    return 0 if ran.returncode == 0 and "compared" in ran.stdout else 1


if __name__ == "__main__":
    sys.exit(main())

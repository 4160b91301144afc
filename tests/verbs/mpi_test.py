#!/usr/bin/env python3
"""A program of MPI's that compares what it gets, by Open MPI over one of UCX's transports of verbs,
or over verbs by itself ("openib").

    tests/verbs/mpi_test.py GDAKIT PROGRAM RANKS TRANSPORT

The exit status is mpirun's, or 77 where Open MPI or its part for the transport is not installed.
"""

import subprocess
import sys

sys.dont_write_bytecode = True

import client

PATIENCE_S = 220

# Open MPI's parameters, the parts of it that they name, and the NICs' options.
UCX = ({"pml": "ucx", "osc": "ucx", "btl": "^openib"}, ("pml: ucx", "osc: ucx"), ())
# Its queue pairs meet by datagrams, which it does over InfiniBand alone. It knows no ConnectX-7,
# and ends in a NULL pointer of its own where it does one-sided operations by atomics of verbs.
OPENIB = ({"pml": "ob1", "btl": "openib,self", "osc": "pt2pt", "btl_openib_allow_ib": "1",
           "btl_openib_cpc_include": "udcm"}, ("btl: openib", "osc: pt2pt"),
          ("--link", "ib", "--model", "6"))


def main():
    gdakit, program, ranks, transport = sys.argv[1:]
    client.require("mpirun", "ompi_info", program)
    parameters, needed, options = OPENIB if transport == "openib" else UCX
    parts = subprocess.run(["ompi_info"], capture_output=True, text=True, check=False).stdout
    if any(part not in parts for part in needed):
        print(f"skipped: this MPI is not Open MPI with {' and '.join(needed)}")
        return client.NOT_HERE
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks]
    for name, value in parameters.items():
        words += ["--mca", name, value]
    variables = client.Fabric(gdakit, *options).variables()
    if transport != "openib":
        variables |= client.ucx_variables(transport)
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

#!/usr/bin/env python3
"""PEs of one job on several hosts, by backend mlx5-emulated: on fabrics that are apart as those of
hosts are, and reach each other over UDP by addresses. PEs 0 and 1 are on the first host.

    tests/verbs/job_hosts_test.py GDAKIT [OPTION of gdakit verbs]... -- PROGRAM WORD...

All PEs must end with status 0.
"""

import os
import secrets
import sys

sys.dont_write_bytecode = True

import client
import two_hosts_test

HOST_OF_PE = (0, 0, 1)


def variables_of(pe, root, secret):
    local_rank = HOST_OF_PE[:pe].count(HOST_OF_PE[pe])
    return {"GDAKIT_RANK": str(pe), "GDAKIT_SIZE": str(len(HOST_OF_PE)),
            "GDAKIT_LOCAL_RANK": str(local_rank), "GDAKIT_ROOT": root, "GDAKIT_SECRET": secret,
            "GDAKIT_BACKEND": "mlx5-emulated", "GDAKIT_DEVICE": "cpu"}


def main():
    words = sys.argv[1:]
    border = words.index("--")
    gdakit, options, program = words[0], words[1:border], words[border + 1:]
    client.require("ibv_devices")
    fabrics = two_hosts_test.fabrics_of_hosts(gdakit, *options)
    root = f"127.0.0.1:{client.free_port()}"
    secret = secrets.token_hex(16)
    pes = [fabrics[host].start(*program, env={**os.environ, **variables_of(pe, root, secret)})
           for pe, host in enumerate(HOST_OF_PE)]
    outputs, statuses = client.wait_for_pair(pes)
    for pe, (output, status) in enumerate(zip(outputs, statuses)):
        print(f"--- PE {pe}, status {status}\n{output}")
    return 0 if statuses == [0] * len(HOST_OF_PE) else 1


if __name__ == "__main__":
    sys.exit(main())

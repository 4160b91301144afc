#!/usr/bin/env python3
"""One side of a program that others wrote, on a host of scripts/hosts.

    scripts/hosts -- tests/verbs/host_pair.py GDAKIT PROGRAM WORD...

Host 0 has the server and host 1 its client. The exit status is the program's, or 77 where it is
not installed.
"""

import os
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import client

SERVER = "10.77.0.1"
PORT = 18515


def wait_for_server():
    """Until host 0 says by a port of its own that its server listens: to try the server's would be
    taken for the client."""
    limit = time.monotonic() + client.PATIENCE_S
    while time.monotonic() < limit:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((SERVER, PORT + 1)) == 0:
                return
        time.sleep(0.02)


def main():
    gdakit, *program = sys.argv[1:]
    client.require(program[0])
    command = [gdakit, "verbs", "--address", "eth0", "--", program[0], "-p", str(PORT),
               *program[1:]]
    if os.environ["GDAKIT_RANK"] == "1":
        wait_for_server()
        return subprocess.call([*command, SERVER])
    server = subprocess.Popen(command)
    while not client.listens(PORT) and server.poll() is None:
        time.sleep(0.01)
    with socket.create_server((SERVER, PORT + 1)):  # says that the server listens
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())

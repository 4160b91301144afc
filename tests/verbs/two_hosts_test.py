#!/usr/bin/env python3
"""A server and a client of a program that others wrote, on fabrics that are apart as those of two
hosts are, and reach each other over UDP by addresses.

    tests/verbs/two_hosts_test.py GDAKIT [OPTION of gdakit verbs]... -- PROGRAM WORD...

Both must end with status 0. The exit status is 77 where the program is not installed.
"""

import random
import socket
import sys

sys.dont_write_bytecode = True

import client

HOSTS = ("127.0.0.1", "127.0.0.2")
PLACES = 2  # that the programs may take, each with a port of its own


def free_ports():
    """A first port such that all that the programs may take are free."""
    while True:
        first = random.randrange(20000, 30000)
        sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2 * PLACES)]
        try:
            for i, one in enumerate(sockets):
                one.bind((HOSTS[i % 2], first + i // 2))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()


def fabrics_of_hosts(gdakit, *options):
    """One of each host."""
    port = free_ports()
    return [client.Fabric(gdakit, "--address", f"{host}:{port}", *options, name=host)
            for host in HOSTS]


def main():
    words = sys.argv[1:]
    border = words.index("--")
    gdakit, options, program = words[0], words[1:border], words[border + 1:]
    client.require(program[0])
    fabrics = fabrics_of_hosts(gdakit, *options)
    outputs, statuses = client.wait_for_pair(client.start_pair(fabrics[0], program, fabrics[1]))
    for name, output, status in zip(("client", "server"), outputs, statuses):
        print(f"--- {name}, status {status}\n{output}")
    return 0 if statuses == [0, 0] else 1


if __name__ == "__main__":
    sys.exit(main())

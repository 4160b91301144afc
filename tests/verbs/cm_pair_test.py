#!/usr/bin/env python3
"""A server and a client that others wrote and that meet by rdma_cm, on soft ConnectXes.

    tests/verbs/cm_pair_test.py GDAKIT [OPTION]... -- SERVER WORD... -- CLIENT WORD...

Options are those of gdakit verbs. Both must end well. In their words {port} is a port of
the test's own, and {address} the server's: 127.0.0.1, or with the option --two-hosts that of its
host, to which the client comes from another one. The exit status is 77 where a program is not
installed.
"""

import random
import sys
import time

sys.dont_write_bytecode = True

import client
import two_hosts_test

MOST_TRIES = 5
# Of connections, and of datagrams.
NOBODY_LISTENS = ("RDMA_CM_EVENT_REJECTED; error: 8.", "RDMA_CM_EVENT_UNREACHABLE; error: 1.")


def split(words):
    """What stands between the borders."""
    parts = [[]]
    for word in words:
        if word == "--" and len(parts) < 3:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def hosts_of(gdakit, options):
    """The fabrics of the server and of the client, and the server's address."""
    if "--two-hosts" not in options:
        fabric = client.Fabric(gdakit, *options)
        return fabric, fabric, "127.0.0.1"
    rest = [word for word in options if word != "--two-hosts"]
    server, other = two_hosts_test.fabrics_of_hosts(gdakit, *rest)
    return server, other, two_hosts_test.HOSTS[0]


def wait_until_listening(server, fabric):
    """Until it does so at a port of rdma_cm, or has ended."""
    wanted = f"/{fabric.name}/l/"
    limit = time.monotonic() + client.PATIENCE_S
    while server.poll() is None and time.monotonic() < limit:
        with open("/proc/net/unix", encoding="ascii", errors="replace") as names:
            if wanted in names.read():
                return
        time.sleep(0.02)


def has_ended_well(status, output):
    """Whether it has, by its status; or it is rping that was done, closed its channel, and whose
    thread of events asked for one behind that: then the thread ends the program with 255, whatever
    the NIC (rdma-core f3ae653, which is in 59, mends it)."""
    lines = output.split("\n")
    return status == 0 or (status == 255 and "failed" not in output and
                           "rdma_get_cm_event: Bad file descriptor" in lines)


def was_too_early(output):
    """Whether this is perftest's client that came before its server: they meet by a first
    connection, and behind it the server listens once more, which the client does not wait for."""
    return (any(nobody_listens in output for nobody_listens in NOBODY_LISTENS) and
            "Failed to connect RDMA CM events." in output)


def run_once(gdakit, options, server_words, client_words):
    """The outputs of the client and of the server, and their exit statuses."""
    at_server, at_client, address = hosts_of(gdakit, options)
    values = {"port": random.randrange(10000, 30000), "address": address}
    server = at_server.start(*(word.format(**values) for word in server_words))
    wait_until_listening(server, at_server)
    other = at_client.start(*(word.format(**values) for word in client_words))
    outputs, statuses = client.wait_for_pair([other])
    if was_too_early(outputs[0]):
        server.kill()  # it waits for ever
    more_outputs, more_statuses = client.wait_for_pair([server])
    return outputs + more_outputs, statuses + more_statuses


def main():
    options, server_words, client_words = split(sys.argv[1:])
    gdakit, *options = options
    client.require(server_words[0], client_words[0])
    for _ in range(MOST_TRIES):
        outputs, statuses = run_once(gdakit, options, server_words, client_words)
        for name, output, status in zip(("client", "server"), outputs, statuses):
            print(f"--- {name}, status {status}\n{output}")
        if not was_too_early(outputs[0]):
            return 0 if all(map(has_ended_well, statuses, outputs)) else 1
    return 1


if __name__ == "__main__":
    sys.exit(main())

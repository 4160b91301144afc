#!/usr/bin/env python3
"""What `gdakit verbs` does to a running fabric, and what it keeps of it, with programs of others.

    tests/verbs/control_test.py GDAKIT list|strangers|kill_port|set_faults|captures|faults|timeline

The exit status is 77 where the programs are not installed.
"""

import json
import os
import pathlib
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import client

LONG = ["ib_write_bw", "-F", "-x", "1", "-D", "60"]  # until it is ended
SHORT = ["ibv_rc_pingpong", "-g", "1", "-n", "200"]


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def rows(fabric):
    """The NICs that `gdakit verbs ls` has, each as {column: text}."""
    lines = fabric.ask("ls").stdout.splitlines()
    names = lines[0].split() if lines else []
    return [dict(zip(names, line.split() + [""])) for line in lines[1:]]


def wait_for(what, condition):
    limit = time.monotonic() + client.PATIENCE_S
    while not condition():
        check(time.monotonic() < limit, what)
        time.sleep(0.02)


def start_traffic(fabric):
    """A pair that exchanges packets by now."""
    pair = client.start_pair(fabric, LONG)
    wait_for("packets", lambda: len(rows(fabric)) == 2 and
             all(int(row["RECEIVED"]) > 10 for row in rows(fabric)))
    return pair


def end(pair):
    for process in pair:
        process.kill()
        process.communicate()


def list_nics(fabric, _):
    pair = start_traffic(fabric)
    found = rows(fabric)
    stats = fabric.ask("stats")
    end(pair)
    check({int(row["PID"]) for row in found} == {process.pid for process in pair}, found)
    check({row["PROGRAM"] for row in found} == {"ib_write_bw"}, found)
    check([row["PLACE"] for row in found] == ["0", "1"], found)
    check("all places" in stats.stdout and "rx_write_requests" in stats.stdout, stats)
    wait_for("nobody to be left", lambda: fabric.ask("ls").returncode == 1)


def listen_as_nobody(name):
    """Another user, who listens under this name until the socket that is returned is closed."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.seteuid(65534)
    try:
        listener.bind("\0" + name)
        listener.listen()
    finally:
        os.seteuid(0)
    return listener


def strangers(fabric, _):
    if os.getuid() != 0:
        print("skipped: only root becomes another user")
        sys.exit(client.NOT_HERE)
    pair = start_traffic(fabric)
    processes = os.stat("/proc/self/ns/pid").st_ino
    with listen_as_nobody(f"gdakit-verbs/0/{processes}/{fabric.name}/member/1/3/5"):
        listed, told = fabric.ask("ls"), fabric.ask("set", "all", "faults=")
        counted = fabric.ask("stats")
        found = rows(fabric)
        end(pair)
        for words in (("ls",), ("stats",), ("set", "all", "faults=")):
            wait_for(f"a stranger alone to be nobody: {words}",
                     lambda words=words: "no NIC is on" in fabric.ask(*words).stderr)
    check([row["PLACE"] for row in found] == ["0", "1"], found)
    for answer in (listed, told, counted):
        check(answer.returncode == 0 and not answer.stderr, answer)


def kill_port(fabric, _):
    pair = start_traffic(fabric)
    check(fabric.ask("kill-port", f"{pair[0].pid}/mlx5_0").returncode == 0, "kill-port")
    check({row["PORT"] for row in rows(fabric)} >= {"down"}, rows(fabric))
    output = pair[0].communicate(timeout=client.PATIENCE_S)[0]
    end(pair[1:])
    check("status 12" in output, "the transport's retries exceeded: " + output)


def set_faults(fabric, _):
    pair = start_traffic(fabric)
    check(fabric.ask("set", "all", "faults=delay=1ms..2ms").returncode == 0, "set")
    check(all(row["FAULTS"] == "delay=1ms..2ms" for row in rows(fabric)), rows(fabric))
    wrong = fabric.ask("set", "all", "faults=drop=2")
    check(wrong.returncode == 1 and "drop" in wrong.stderr, wrong)
    check(fabric.ask("set", str(pair[0].pid), "faults=").returncode == 0, "set to none")
    check(sorted(row["FAULTS"] for row in rows(fabric)) == ["", "delay=1ms..2ms"], rows(fabric))
    end(pair)


def captures(fabric, folder):
    outputs, statuses = client.run_pair(fabric, SHORT)
    check(statuses == [0, 0], outputs)
    files = sorted((folder / "pcap").glob("mlx5_0-*.pcapng"))
    check(len(files) == 2, files)
    for file in files:
        data = file.read_bytes()
        check(data[:4] == b"\x0a\x0d\x0d\x0a", "a pcapng file")
        # 200 messages of 4 KiB each way, each of which goes by one packet with its bytes.
        check(len(data) > 2 * 200 * 4096, f"{file} has {len(data)} bytes")


def faults(fabric, _):
    outputs, statuses = client.run_pair(fabric, SHORT)
    check(statuses == [0, 0], outputs)
    without = client.Fabric(sys.argv[1], "--faults", "drop=100%")
    pair = client.start_pair(without, SHORT)
    output = pair[0].communicate(timeout=client.PATIENCE_S)[0]
    end(pair[1:])
    check("status transport retry counter exceeded" in output, output)


def timeline(fabric, folder):
    server_file, client_file = folder / "server.json", folder / "client.json"
    fabric.words[-1:-1] = ["--trace", str(server_file)]
    other = client.Fabric(sys.argv[1], "--trace", str(client_file))
    port = client.free_port()
    command = [SHORT[0], "-p", str(port), *SHORT[1:]]
    server = fabric.start(*command)
    wait_for("the server", lambda: client.listens(port) or server.poll() is not None)
    outputs, statuses = client.wait_for_pair((other.start(*command, "127.0.0.1"), server))
    check(statuses == [0, 0], outputs)
    for file in (server_file, client_file):
        events = json.loads(file.read_text())["traceEvents"]
        names = " ".join(event["name"] for event in events)
        check(names.count("SEND") >= 200, f"{file}: {len(events)} events")


TESTS = {
    "list": (list_nics, ()),
    "kill_port": (kill_port, ()),
    "set_faults": (set_faults, ()),
    "strangers": (strangers, ()),
    "captures": (captures, ("--pcap", "pcap")),
    "faults": (faults, ("--faults", "drop=2%,repeat=1%,reorder=2%,seed=3")),
    "timeline": (timeline, ()),
}


def main():
    client.require("ib_write_bw", "ibv_rc_pingpong")
    test, options = TESTS[sys.argv[2]]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        test(client.Fabric(sys.argv[1], *(str(path / word) if word == "pcap" else word
                                          for word in options)), path)


if __name__ == "__main__":
    main()

"""Programs that others wrote, on soft ConnectXes: what the tests of this folder share."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

NOT_HERE = 77  # the exit status that CTest takes for "skipped"
PATIENCE_S = 100


def require(*programs):
    """Ends the test as skipped where one of the programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed (scripts/setup --optional)")
            sys.exit(NOT_HERE)


class Fabric:
    """Starts programs that find the NICs of a fabric of the test's own."""

    def __init__(self, gdakit, *options, name="test"):
        self.name = f"{name}-{os.getpid()}"
        self.command = [gdakit, "verbs", "--fabric", self.name]
        self.words = [*self.command, *options, "--"]

    def run(self, *words, **more):
        return subprocess.run([*self.words, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, **more)

    def ask(self, *words):
        """What `gdakit verbs` itself says of the fabric."""
        return subprocess.run([*self.command, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S)

    def start(self, *words):
        return subprocess.Popen([*self.words, *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(port):
    """Whether a process of this host listens there, by IPv4 or IPv6."""
    wanted = re.compile(rf":{port:04X} [0:]+:0000 0A ")
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{table}", encoding="ascii") as lines:
                if any(wanted.search(line) for line in lines):
                    return True
        except FileNotFoundError:
            pass
    return False


def start_pair(fabric, words, others=None):
    """A client and a server of the same command; the client on the fabric `others`, if given."""
    port = free_port()
    command = [words[0], "-p", str(port), *words[1:]]
    server = fabric.start(*command)
    limit = time.monotonic() + PATIENCE_S
    while not listens(port) and server.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    return (others or fabric).start(*command, "127.0.0.1"), server


def run_pair(fabric, words):
    """Runs a server and a client of the same command. Returns the client's output, the server's,
    and the two exit statuses; a status of None is one that had to be ended."""
    return wait_for_pair(start_pair(fabric, words))


def wait_for_pair(pair):
    """As run_pair(), of what start_pair() has started."""
    limit = time.monotonic() + PATIENCE_S
    outputs, statuses = [], []
    for process in pair:
        try:
            outputs.append(process.communicate(timeout=max(1, limit - time.monotonic()))[0])
            statuses.append(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            outputs.append(process.communicate()[0])
            statuses.append(None)
    return outputs, statuses

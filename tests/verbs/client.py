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


# What UCX may use; its reliable transports meet by datagrams.
UCX_TRANSPORTS = {
    "ud_verbs": "ud_verbs,self",
    "ud_mlx5": "ud_mlx5,self",
    "rc_verbs": "rc_verbs,ud_verbs:aux,self",
    "rc_mlx5": "rc_mlx5,ud_mlx5:aux,self",
    "rc_mlx5_without_devx": "rc_mlx5,ud_mlx5:aux,self",
    "dc_mlx5": "dc_mlx5,self",
    "dc_mlx5_without_devx": "dc_mlx5,self",
}


def ucx_variables(transport):
    """DEVX, by which rc_mlx5 and dc_mlx5 make queues, is there, and is not used without."""
    return {"UCX_TLS": UCX_TRANSPORTS[transport], "UCX_NET_DEVICES": "mlx5_0:1",
            "UCX_IB_MLX5_DEVX": "n" if transport.endswith("_without_devx") else "y"}


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

    def variables(self):
        """What `gdakit verbs env` prints, for programs that something else starts."""
        ran = subprocess.run([*self.words[:-1], "env"], capture_output=True, text=True,
                             timeout=PATIENCE_S, check=True)
        return dict(re.findall(r"^export (\w+)='(.*)'$", ran.stdout, re.MULTILINE))

    def run(self, *words, **more):
        return subprocess.run([*self.words, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, **more)

    def ask(self, *words):
        """What `gdakit verbs` itself says of the fabric."""
        return subprocess.run([*self.command, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S)

    def start(self, *words, **more):
        return subprocess.Popen([*self.words, *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **more)


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


def wait_until_listening(server, port):
    """Until it does, or has ended."""
    limit = time.monotonic() + PATIENCE_S
    while not listens(port) and server.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)


def start_pair(fabric, words, others=None, server_port="-p", client_port="-p"):
    """A client and a server of the same command, which take the number of a TCP port by these
    options; the client on the fabric `others`, if given."""
    port = free_port()
    server = fabric.start(words[0], server_port, str(port), *words[1:])
    wait_until_listening(server, port)
    client = (others or fabric).start(words[0], client_port, str(port), *words[1:], "127.0.0.1")
    return client, server


def run_pair(fabric, words, patience_s=PATIENCE_S, **ports):
    """Runs a server and a client as start_pair() does. Returns the client's output, the server's,
    and the two exit statuses; a status of None is one that had to be ended."""
    return wait_for_pair(start_pair(fabric, words, **ports), patience_s)


def wait_for_pair(pair, patience_s=PATIENCE_S):
    """As run_pair(), of what start_pair() has started."""
    limit = time.monotonic() + patience_s
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

#!/usr/bin/env python3
"""`gdakit check` on soft ConnectXes: a healthy node, a healthy job, and ones where something is
wrong.

    tests/verbs/check_test.py GDAKIT
"""

import json
import os
import resource
import subprocess
import sys

sys.dont_write_bytecode = True

import client

NODE_STEPS = ["modules", "nodes", "libraries", "limits", "device", "port", "gid", "gpu-memory",
              "gpu-doorbell", "gpu-objects", "atomics", "pcie", "put", "gpu-put", "qos", "pairs"]
STEP_KEYS = {"step", "verdict", "summary", "facts", "findings"}
FINDING_KEYS = {"verdict", "on", "tried", "answer", "cause", "proof", "remedy", "otherwise"}
LEAST_LOCKED = 8 << 20
IPC_LOCK = 1 << 14
LOSES_ALL = ("--faults", "drop=100%")
# All file systems, but for that of shared memory.
READ_ONLY = """
for place in $(cut -d ' ' -f 2 /proc/self/mounts); do
  case $place in /dev/shm) ;; *) mount -o remount,ro,bind "$place" || exit 77 ;; esac
done
touch / 2>/dev/null && exit 77
exec "$@"
"""


class Check:
    """Runs the command on a fabric of its own."""

    def __init__(self, gdakit):
        self.gdakit = gdakit

    def run(self, *words, options=(), before=(), **more):
        fabric = client.Fabric(self.gdakit, *options)
        return fabric.run(*before, self.gdakit, "check", *words, **more)

    def job(self, *words, pes=2, options=()):
        return self.run("--job", *words, options=options,
                        before=(self.gdakit, "run", "-n", str(pes), "--no-prefix"))

    def steps(self, *words, status=0, **more):
        """The steps of the one PE, by name, as --json has them."""
        ran = self.run("--json", *words, **more)
        expect(ran.returncode == status, f"the status is not {status}", ran)
        told = json.loads(ran.stdout)
        expect(set(told) == {"gdakit", "verdict", "pes"}, "other keys", ran)
        expect(told["verdict"] == ("FAIL" if status else "ok"), "the verdict is another", ran)
        (pe,) = told["pes"]
        return {step["step"]: step for step in pe["steps"]}


def expect(good, what, ran):
    if not good:
        sys.exit(f"{what}\n{ran.returncode}\n{ran.stdout}{ran.stderr}")


def verdicts_of(text):
    """Of the lines of the text that are steps'."""
    rows = [line.split() for line in text.splitlines() if line[:2] == "  " != line[1:3]]
    return {row[0]: row[1] for row in rows if row[0] in NODE_STEPS + ["agreement"]}


def check_healthy_node(check):
    for options in ((), ("--nics", "2"), ("--link", "ib")):
        ran = check.run(options=options)
        verdicts = verdicts_of(ran.stdout)
        expect(ran.returncode == 0 and list(verdicts) == NODE_STEPS, "steps are missing", ran)
        expect(set(verdicts.values()) <= {"ok", "skipped"}, "a healthy node is not ok", ran)
        for step in ("modules", "libraries", "device", "port", "gid", "atomics", "put"):
            expect(verdicts[step] == "ok", f"{step} is not ok", ran)
    expect("every byte right" in ran.stdout, "no bytes were compared", ran)


def check_json(check):
    steps = check.steps()
    assert list(steps) == NODE_STEPS, steps
    assert all(set(step) == STEP_KEYS for step in steps.values()), steps
    assert steps["device"]["facts"]["firmware"] == "28.39.3004", steps["device"]
    assert "mlx5_1 port 1: 8 bytes" in check.steps(options=("--nics", "2"))["put"]["summary"]
    assert list(check.steps("--only", "put,port")) == ["port", "put"]
    failed = check.steps("--only", "put,port", status=1, options=LOSES_ALL)
    (finding,) = failed["put"]["findings"]
    assert set(finding) == FINDING_KEYS and finding["on"] == "mlx5_0 port 1", finding
    assert all(finding.values()) and "0x15" in finding["answer"], finding
    assert failed["port"]["verdict"] == "ok", failed


def check_failures(check):
    ran = check.run("--only", "put", options=LOSES_ALL)
    for said in ("FAIL in step put", "transport retry exceeded", "status 0x15", "remedy"):
        expect(ran.returncode == 1 and said in ran.stdout, f"it does not say {said}", ran)
    ran = check.run("--only", "put", "--limit", "0.05", options=LOSES_ALL)
    expect(ran.returncode == 1 and "within 50 ms" in ran.stdout, "no limit of time", ran)
    os.environ["GDAKIT_HCA_LIST"] = "^mlx5_0"
    ran = check.run()
    del os.environ["GDAKIT_HCA_LIST"]
    verdicts = verdicts_of(ran.stdout)
    expect(ran.returncode == 1 and list(verdicts) == NODE_STEPS, "it stopped at a failure", ran)
    expect(verdicts["device"] == "FAIL" and verdicts["put"] == "skipped", "what has no NIC", ran)


def check_dc(check):
    """With queues of DC put goes by them, and a NIC that has none is a failure."""
    os.environ["GDAKIT_QUEUE_TYPE"] = "dc"
    for options in (("--nics", "2"), ("--link", "ib")):
        ran = check.run("--only", "device,put", options=options)
        expect(ran.returncode == 0 and "queues of DC" in ran.stdout, "a healthy node", ran)
        expect("every byte right, by DC" in " ".join(ran.stdout.split()), "no put by DC", ran)
    failed = check.steps("--only", "device,put", status=1, options=("--fail", "dc=absent"))
    for step in ("device", "put"):
        (finding,) = failed[step]["findings"]
        assert all(finding.values()) and "no targets of DC" in finding["answer"], finding
        assert finding["remedy"] == "GDAKIT_QUEUE_TYPE=rc", finding
    del os.environ["GDAKIT_QUEUE_TYPE"]
    steps = check.steps("--only", "device,put", options=("--fail", "dc=absent"))
    assert ", no queues of DC" in steps["device"]["summary"], steps


def check_several_nics(check):
    """A PE of two NICs is told both, and one that wants more than there are is a failure."""
    os.environ["GDAKIT_NICS_PER_PE"] = "2"
    steps = check.steps("--only", "put,qos", options=("--nics", "2"))
    assert "this PE takes mlx5_0 port 1 (number 1 of 2 that are as near), mlx5_1 port 1 (" in \
        steps["qos"]["summary"], steps
    assert all(f"mlx5_{nic} port 1: 8 bytes" in steps["put"]["summary"] for nic in (0, 1)), steps
    (finding,) = check.steps("--only", "put,qos", status=1)["qos"]["findings"]
    assert all(finding[key] for key in FINDING_KEYS - {"on"}), finding
    assert "GDAKIT_NICS_PER_PE=2, where 1 of this host's 1 RDMA NICs" in finding["answer"], finding
    del os.environ["GDAKIT_NICS_PER_PE"]


def check_partition(check):
    """An index beyond the port's table is a failure that tells the table's size."""
    for options, index, size in (((), 1, "1 place"), (("--link", "ib"), 128, "128 places")):
        os.environ["GDAKIT_PKEY_INDEX"] = str(index)
        failed = check.steps("--only", "port,put", status=1, options=options)
        (port,), (put,) = (failed[step]["findings"] for step in ("port", "put"))
        assert all(port.values()) and f"table has {size}, where" in port["answer"], port
        assert f"GDAKIT_PKEY_INDEX={index}: port 1 of mlx5_0 has a table of" in put["answer"], put
    os.environ["GDAKIT_PKEY_INDEX"] = "127"
    check.steps("--only", "port,put", options=("--link", "ib"))
    del os.environ["GDAKIT_PKEY_INDEX"]


def check_bad_usage(check):
    for words in (("--only", "nosuch"), ("--limit", "0"), ("--nosuch",), ("word",)):
        ran = check.run(*words)
        expect(ran.returncode == 2 and ran.stdout == "", f"{words} are taken", ran)
    expect("there are modules, nodes" in check.run("--only", "nosuch").stderr, "no names", ran)


def check_job(check):
    for options in ((), ("--nics", "3"), ("--link", "ib")):
        ran = check.job(pes=3, options=options)
        verdicts = verdicts_of(ran.stdout)
        expect(ran.returncode == 0 and list(verdicts) == NODE_STEPS + ["agreement"],
               "steps are missing", ran)
        expect(set(verdicts.values()) <= {"ok", "skipped"}, "a healthy job is not ok", ran)
        expect("2 of 2 puts of 64 KiB" in ran.stdout, "no puts between PEs", ran)
    ran = check.job("--only", "pairs", "--limit", "5", options=LOSES_ALL)
    for said in ("mlx5_0 port 1 to PE 1's mlx5_0 port 1", "mlx5_0 port 1 to PE 0's mlx5_0 port 1"):
        expect(ran.returncode == 1 and said in " ".join(ran.stdout.split()),
               f"it does not name {said}", ran)
    ran = check.job("--json", "--only", "port,agreement")
    pes = json.loads(ran.stdout)["pes"]
    expect([pe["pe"] for pe in pes] == [0, 1], "PEs are missing", ran)
    expect([step["step"] for step in pes[0]["steps"]] == ["port", "agreement"], "steps", ran)


def check_alone(gdakit):
    """Without NICs; the kernel of this machine may have some."""
    ran = subprocess.run([gdakit, "check"], capture_output=True, text=True,
                         timeout=client.PATIENCE_S)
    expect(ran.returncode in (0, 1) and list(verdicts_of(ran.stdout)) == NODE_STEPS,
           "it does not come to its end", ran)


def check_nobody_comes(check):
    """A job whose PEs do not meet: PE 1 of two, where nobody is PE 0."""
    job = {"GDAKIT_RANK": "1", "GDAKIT_SIZE": "2", "GDAKIT_TIMEOUT": "1", "GDAKIT_SECRET": "5" * 32,
           "GDAKIT_ROOT": f"127.0.0.1:{client.free_port()}"}
    ran = check.run("--job", "--only", "port,pairs", env={**os.environ, **job})
    told = " ".join(ran.stdout.split())
    for said in ("FAIL in step pairs", "the meeting of all PEs", job["GDAKIT_ROOT"], "remedy"):
        expect(ran.returncode == 1 and said in told, f"it does not say {said}", ran)
    expect(verdicts_of(ran.stdout)["port"] == "ok", "it stopped at a failure", ran)


def check_as_nobody(check):
    """It needs no root."""
    if os.getuid() != 0:
        return  # all of this test shows it
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run([check.gdakit, "--version"], capture_output=True, check=True, **nobody)
    except PermissionError:
        print(f"{check.gdakit} is in a folder that only root may enter")
        return
    ran = check.run(**nobody)
    verdicts = verdicts_of(ran.stdout)
    expect(ran.returncode == 0 and list(verdicts) == NODE_STEPS, "it needs root", ran)
    expect(verdicts["put"] == "ok", "it needs root for a put", ran)


def check_changes_nothing(check):
    """It comes to the same where no file can be changed, but for the memory of soft ConnectXes."""
    alone = ("unshare", "--mount", "sh", "-c", READ_ONLY, "sh")
    if subprocess.run((*alone, "true"), capture_output=True, check=False).returncode != 0:
        print("this user may not have file systems that are read-only")
        return
    ran = check.run(before=alone)
    verdicts = verdicts_of(ran.stdout)
    expect(ran.returncode == 0 and list(verdicts) == NODE_STEPS, "it writes files", ran)
    expect(verdicts["put"] == "ok", "a put writes files", ran)


def require_locked_memory():
    """Ends the test as skipped where a heap of 1 MiB would not fit: that step would fail."""
    os.environ["GDAKIT_SYMMETRIC_SIZE"] = "1M"
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    with open("/proc/self/status", encoding="ascii") as lines:
        (capabilities,) = (line.split()[1] for line in lines if line.startswith("CapEff:"))
    if not int(capabilities, 16) & IPC_LOCK and -1 < limit < LEAST_LOCKED:
        print(f"skipped: locked memory is limited to {limit} bytes (ulimit -l)")
        sys.exit(client.NOT_HERE)


def main():
    gdakit = sys.argv[1]
    client.require("ibv_devices")
    require_locked_memory()
    check = Check(gdakit)
    check_healthy_node(check)
    check_json(check)
    check_failures(check)
    check_dc(check)
    check_several_nics(check)
    check_partition(check)
    check_bad_usage(check)
    check_job(check)
    check_nobody_comes(check)
    check_as_nobody(check)
    check_changes_nothing(check)
    check_alone(gdakit)


if __name__ == "__main__":
    main()

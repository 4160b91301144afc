#!/usr/bin/env python3
"""What is said of a node of which something is broken (fail_table.py).

    tests/verbs/fail_test.py GDAKIT PROGRAM info|jobs|check|files|names|again [FAILURE...]

PROGRAM is ring_shift, or for `again`, which looks for what is left behind, init_again. With
failures, these alone. `names` holds the table of `gdakit verbs --fail help` against
docs/on-a-connectx.md and fail_table.py.
"""

import json
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import client
import fail_table

PES = 2
PATIENCE_S = 30  # a job that fails ends at once; these are processes that wait for a core
GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "on-a-connectx.md"

# Opens a NIC that refuses it, again and again: nothing is to stay open.
OPENS = """
import ctypes, os
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
verbs.ibv_open_device.argtypes = [ctypes.c_void_p]
devices = verbs.ibv_get_device_list(None)
def files():
    return len(os.listdir("/proc/self/fd"))
assert verbs.ibv_open_device(devices[0]) is None
before = files()
for _ in range(20):
    assert verbs.ibv_open_device(devices[0]) is None
print(files() - before)
"""


def lacks(text, pieces):
    return [piece for piece in pieces if piece not in text]


def run(gdakit, fail, options, *words, **more):
    """None: it has not ended."""
    fabric = client.Fabric(gdakit, *options, "--fail", fail)
    try:
        return subprocess.run([*fabric.words, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, **more)
    except subprocess.TimeoutExpired:
        return None


def check_info(gdakit, row):
    ran = run(gdakit, row.fail, row.options, gdakit, "info", "--json")
    if ran is None or ran.returncode != 0:
        return f"gdakit info: {ran}"
    told = json.loads(ran.stdout)
    nics = told["rdma_nics"]
    sentence = nics[0]["sentence"] if nics else told["no_rdma_nics_because"]
    usable = bool(nics) and nics[0]["usable"]
    missing = lacks(sentence, row.info)
    if not missing and usable == (fail_table.USABLE in row.info or "MTU 1024" in row.info):
        return ""
    return f"gdakit info says {sentence!r}, usable {usable}, without {missing}"


def check_job(gdakit, ring_shift, row):
    begin = time.monotonic()
    words = ("env", "GDAKIT_BACKEND=mlx5", "GDAKIT_DEVICE=cpu", f"GDAKIT_QUEUE_TYPE={row.queues}",
             "GDAKIT_TRANSPORT=nic", *row.variables, gdakit, "run", "-n", str(PES))
    ran = run(gdakit, row.fail, row.options, *words, ring_shift)
    took = f"after {time.monotonic() - begin:.1f} s"
    if ran is None:
        return f"the job has not ended {took}"
    if ran.returncode != (1 if row.says else 0):
        return f"the job ended with {ran.returncode} {took}\n{ran.stdout}{ran.stderr}"
    missing = lacks(ran.stderr, row.says)
    return f"the job does not say {missing}\n{ran.stderr}" if missing else ""


def check_again(gdakit, init_again, row):
    words = ("env", "GDAKIT_BACKEND=mlx5", "GDAKIT_DEVICE=cpu", "GDAKIT_LOG=error",
             f"GDAKIT_QUEUE_TYPE={row.queues}", init_again)
    ran = run(gdakit, row.fail, row.options, *words)
    if ran is not None and (ran.returncode, ran.stdout) == (0, "0 descriptors, 0 threads\n"):
        return ""
    return f"jobs of one process, one after the other: {ran}"


def check_check(gdakit, row):
    """What `gdakit check` says: the first step at which something is wrong."""
    fail = row.fail
    ran = run(gdakit, fail, row.options, gdakit, "check", "--json", *row.words)
    if ran is None or not ran.stdout:
        return f"--- {fail}\ngdakit check: {ran}"
    told = json.loads(ran.stdout)
    if ran.returncode != (1 if told["verdict"] == "FAIL" else 0):
        return f"--- {fail}\ngdakit check ends with {ran.returncode} after {told['verdict']}"
    steps = [one for pe in told["pes"] for one in pe["steps"] if one["findings"]]
    first = (steps[0]["step"], steps[0]["findings"][0]["verdict"]) if steps else ("", "")
    answers = " ".join(found["answer"] for one in steps[:1] for found in one["findings"])
    if first == (row.step, row.verdict) and not lacks(answers, row.answer):
        return ""
    return f"--- {fail}\ngdakit check tells of {first}: {answers!r}, not of {row}"


def check_files(gdakit, row):
    fail, command, said = row
    ran = run(gdakit, fail, ("--nics", "2") if "_1" in command else (), "sh", "-c", command)
    if ran is not None and (ran.stdout, ran.stderr) == (said, ""):
        return ""
    return f"{command}: said {ran and (ran.stdout, ran.stderr)}, not {said!r}"


def check_descriptors(gdakit):
    ran = run(gdakit, "get_context=EPERM", (), sys.executable, "-c", OPENS)
    return "" if ran is not None and ran.stdout == "0\n" else f"descriptors: {ran}"


def check_names(gdakit):
    """The failures that there are, in the guide and in the tables of this test."""
    shown = subprocess.run([gdakit, "verbs", "--fail", "help"], capture_output=True, text=True,
                           timeout=PATIENCE_S, check=True).stdout
    known = re.findall(r"^  ([\w]+=\S+)\s+(\S.*)$", shown, re.MULTILINE)
    guide = GUIDE.read_text(encoding="utf-8")
    told = [(name.replace(r"\|", "|"), what)
            for name, what in re.findall(r"^\| `(\w+=(?:[^`])+)` \| (.+?) \|", guide, re.MULTILINE)]
    wrong = ""
    if told != known:
        wrong += f"{GUIDE} has not the rows of --fail help: {sorted(set(known) ^ set(told))}\n"
    used = [row.fail for row in fail_table.JOBS] + [row[0] for row in fail_table.FILES]
    names = {re.split("[:/]", one.split("=")[0])[-1] for list_ in used for one in list_.split(",")}
    untried = [form for form, _ in known if form.split("=")[0] not in names | {"CALL", "COMMAND"}]
    if untried:
        wrong += f"no row of fail_table.py tries {untried}"
    return wrong


def check_row(gdakit, program, group, row):
    if group == "info":
        return check_info(gdakit, row)
    if group == "again":
        return check_again(gdakit, program, row)
    return check_job(gdakit, program, row)


def main():
    gdakit, program, group, *only = sys.argv[1:]
    client.require("ibv_devices")
    if group == "names":
        wrong = [check_names(gdakit)]
    elif group == "check":
        wrong = [check_check(gdakit, row) for row in fail_table.CHECKS]
    elif group == "files":
        wrong = [check_files(gdakit, row) for row in fail_table.FILES]
        wrong.append(check_descriptors(gdakit))
    else:
        rows = [row for row in fail_table.JOBS if not only or row.fail in only]
        if group == "again":  # many jobs, none of which is to wait for its watchdog
            rows = [row for row in rows if not row.variables]
        wrong = []
        for row in rows:
            said = check_row(gdakit, program, group, row)
            wrong.append(said and f"--- {row.fail}\n{said}")
    wrong = [one for one in wrong if one]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""qperf's tests of queue pairs, over InfiniBand: without rdma_cm it knows none of RoCE's GIDs.

    tests/verbs/qperf_test.py GDAKIT

Each must say a rate or a time, and the server must end when it is told to. The exit status is 77
where qperf is not installed.
"""

import re
import sys

sys.dont_write_bytecode = True

import client

SECONDS = 1  # a test
TESTS = """
    rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat
    rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add
    uc_bi_bw uc_bw uc_lat uc_rdma_write_bw uc_rdma_write_lat uc_rdma_write_poll_lat
    ud_bi_bw ud_bw ud_lat
""".split()


def judge(fabric, server, port):
    words = ["qperf", "--listen_port", port, "--time", str(SECONDS), "127.0.0.1"]
    ran = fabric.run(*words, *TESTS)
    ended = fabric.run(*words, "quit")
    output = server.communicate(timeout=client.PATIENCE_S)[0]
    print(f"--- client\n{ran.stdout}{ran.stderr}{ended.stderr}\n--- server\n{output}")
    results = re.findall(r"^(\w+):\n((?: +.*\n)+)", ran.stdout, re.MULTILINE)
    said = {name for name, figures in results
            if re.search(r"(bw|latency|msg_rate) +=", figures)}
    missing = [test for test in TESTS if test not in said]
    if missing:
        print(f"no result of {', '.join(missing)}")
    return 1 if missing or ran.returncode != 0 or server.returncode != 0 else 0


def main():
    client.require("qperf")
    fabric = client.Fabric(sys.argv[1], "--link", "ib")
    port = str(client.free_port())
    server = fabric.start("qperf", "--listen_port", port)
    client.wait_until_listening(server, int(port))
    try:
        return judge(fabric, server, port)
    finally:
        server.kill()


if __name__ == "__main__":
    sys.exit(main())

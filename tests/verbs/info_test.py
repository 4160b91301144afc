#!/usr/bin/env python3
"""What `gdakit info` says of soft ConnectXes, by the distribution's libibverbs and libmlx5.

    tests/verbs/info_test.py GDAKIT

It finds them by these libraries alone: the command is not linked against them.
"""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import client

LINKED = ("libibverbs", "libmlx5", "librdmacm")


def rows_of(gdakit, options=(), hca_list="", **variables):
    """What `gdakit info --json` tells."""
    os.environ.update({"GDAKIT_HCA_LIST": hca_list, "GDAKIT_HCA_MAP": "",
                       "GDAKIT_NICS_PER_PE": "1", **variables})
    ran = client.Fabric(gdakit, *options).run(gdakit, "info", "--json")
    if ran.returncode != 0:
        sys.exit(f"gdakit info: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return json.loads(ran.stdout)


def nics_of(gdakit, options=(), hca_list=""):
    """The NICs, with one port each, and why there is none."""
    told = rows_of(gdakit, options, hca_list)
    nics = {nic["name"]: (nic["usable"], nic["port"], nic["sentence"]) for nic in told["rdma_nics"]}
    return nics, told["no_rdma_nics_because"]


def map_of(gdakit, hca_map, nics=1, json_form=True):
    """Which NICs the first PE of this host takes, of two, and why, or why none; or the text."""
    os.environ["GDAKIT_HCA_LIST"] = ""
    os.environ["GDAKIT_HCA_MAP"] = hca_map
    os.environ["GDAKIT_NICS_PER_PE"] = str(nics)
    words = ("--json",) if json_form else ()
    ran = client.Fabric(gdakit, "--nics", "2").run(gdakit, "info", *words)
    if not json_form:
        return " ".join(ran.stdout.split())
    (pe,) = json.loads(ran.stdout)["nic_map"]
    if pe["local_rank"] != 0 or pe["gpu"]:
        sys.exit(f"a PE of local rank 0 without a GPU is {pe}")
    return [(nic["name"], nic["port"], nic["why"]) for nic in pe["nics"]], pe["no_nics_because"]


def ports_of(gdakit, fail, hca_list="", nics=1, **variables):
    """Of one device: the sentence of each port, and what the first PE takes, or why none."""
    told = rows_of(gdakit, ("--fail", fail), hca_list, GDAKIT_NICS_PER_PE=str(nics), **variables)
    sentences = [nic["sentence"].split(",")[0] for nic in told["rdma_nics"]]
    if not sentences:
        return told["no_rdma_nics_because"]
    (pe,) = told["nic_map"]
    return sentences, [nic["port"] for nic in pe["nics"]] or pe["no_nics_because"]


def check_two_ports(gdakit):
    """Each port is a NIC of its own."""
    both = ["port 1", "port 2"]
    left_out = "left out by GDAKIT_HCA_LIST"
    two = "ports=2"
    expect(ports_of(gdakit, two), (both, [1]))
    expect(ports_of(gdakit, two, "mlx5_0:1,mlx5_0:2", nics=2), (both, [1, 2]))
    expect(ports_of(gdakit, two, nics=2, GDAKIT_HCA_MAP="mlx5_0:2+mlx5_0:1"), (both, [2, 1]))
    expect(ports_of(gdakit, two, "mlx5_0:2"), ([f"port 1 is {left_out}", "port 2"], [2]))
    expect(ports_of(gdakit, two, "^mlx5_0:2"), (["port 1", f"port 2 is {left_out}"], [1]))
    down = "port 1 is DOWN (`ip link` or `ibstat` shows the cable's state)"
    expect(ports_of(gdakit, "ports=2,port=down:1"), ([down, "port 2"], [2]))
    expect(ports_of(gdakit, "ports=2,port=down:1", "mlx5_0:1,mlx5_0:2", nics=2),
           ([down, "port 2"],
            "GDAKIT_NICS_PER_PE=2, where 1 of this host's 2 RDMA NICs can be used; lower "
            f"GDAKIT_NICS_PER_PE. Those that cannot: mlx5_0: {down}"))
    only_one = ("names port 2 of mlx5_0, which has 1 port; from ConnectX-4 on most ports are "
                "devices of their own, and `ibv_devices` lists these")
    expect(ports_of(gdakit, "mtu=4096", "mlx5_0:1,mlx5_0:2", nics=2), f"GDAKIT_HCA_LIST {only_one}")
    expect(ports_of(gdakit, "mtu=4096", GDAKIT_HCA_MAP="mlx5_0:2"),
           (["port 1"], f"GDAKIT_HCA_MAP {only_one}"))


def expect(told, wanted):
    if told != wanted:
        sys.exit(f"told is {told}, wanted is {wanted}")


def main():
    gdakit = sys.argv[1]
    client.require("ibv_devices", "readelf")
    needed = subprocess.run(["readelf", "-d", gdakit], capture_output=True, text=True, check=True)
    expect([name for name in LINKED if name in needed.stdout], [])

    roce = (True, 1, "port 1, RoCE, MTU 4096, firmware 28.39.3004")
    infiniband = (True, 1, "port 1, InfiniBand, MTU 4096, LID 1, firmware 28.39.3004")
    out = (False, 0, "left out by GDAKIT_HCA_LIST")
    expect(nics_of(gdakit), ({"mlx5_0": roce}, ""))
    expect(nics_of(gdakit, ("--link", "ib")), ({"mlx5_0": infiniband}, ""))
    two = ("--nics", "2")
    expect(nics_of(gdakit, two), ({"mlx5_0": roce, "mlx5_1": roce}, ""))
    expect(nics_of(gdakit, two, "mlx5_1:1"), ({"mlx5_0": out, "mlx5_1": roce}, ""))
    expect(nics_of(gdakit, two, "^mlx5_1"), ({"mlx5_0": roce, "mlx5_1": out}, ""))
    expect(nics_of(gdakit, two, "mlx5_1:2"),
           ({}, "GDAKIT_HCA_LIST names port 2 of mlx5_1, which has 1 port; from ConnectX-4 on "
                "most ports are devices of their own, and `ibv_devices` lists these"))
    expect(nics_of(gdakit, two, "mlx5_4,mlx5_0"),
           ({}, "GDAKIT_HCA_LIST names mlx5_4, where this host has mlx5_0, mlx5_1"))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    check_two_ports(gdakit)
    first, second = (f"number {nic} of 2 that are as near" for nic in (1, 2))
    by_map = "by GDAKIT_HCA_MAP"
    expect(map_of(gdakit, ""), ([("mlx5_0", 1, first)], ""))
    expect(map_of(gdakit, "mlx5_1,mlx5_0"), ([("mlx5_1", 1, by_map)], ""))
    expect(map_of(gdakit, "mlx5_7"),
           ([], "GDAKIT_HCA_MAP gives the PE of local rank 0 the NIC mlx5_7, where this host has "
                "mlx5_0, mlx5_1"))
    expect(map_of(gdakit, "", nics=2), ([("mlx5_0", 1, first), ("mlx5_1", 1, second)], ""))
    expect(map_of(gdakit, "mlx5_1+mlx5_0:1", nics=2),
           ([("mlx5_1", 1, by_map), ("mlx5_0", 1, by_map)], ""))
    expect(map_of(gdakit, "", nics=3),
           ([], "GDAKIT_NICS_PER_PE=3, where 2 of this host's 2 RDMA NICs can be used; lower "
                "GDAKIT_NICS_PER_PE"))
    told = map_of(gdakit, "mlx5_1+mlx5_0", nics=2, json_form=False)
    wanted = f"takes mlx5_1, port 1: {by_map}; mlx5_0, port 1: {by_map}"
    if wanted not in told:
        sys.exit(f"told is {told}, without {wanted!r}")


if __name__ == "__main__":
    main()

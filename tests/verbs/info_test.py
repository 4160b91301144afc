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


def nics_of(gdakit, options=(), hca_list=""):
    """The NICs as `gdakit info --json` has them, and why there is none."""
    os.environ["GDAKIT_HCA_LIST"] = hca_list
    ran = client.Fabric(gdakit, *options).run(gdakit, "info", "--json")
    if ran.returncode != 0:
        sys.exit(f"gdakit info: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    told = json.loads(ran.stdout)
    nics = {nic["name"]: (nic["usable"], nic["port"], nic["sentence"]) for nic in told["rdma_nics"]}
    return nics, told["no_rdma_nics_because"]


def map_of(gdakit, hca_map):
    """Which NIC the PEs of this host take, by `gdakit info --json`, on two of them."""
    os.environ["GDAKIT_HCA_LIST"] = ""
    os.environ["GDAKIT_HCA_MAP"] = hca_map
    ran = client.Fabric(gdakit, "--nics", "2").run(gdakit, "info", "--json")
    return [(pe["local_rank"], pe["nic"], pe["why"]) for pe in json.loads(ran.stdout)["nic_map"]]


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
           ({"mlx5_0": out, "mlx5_1": (False, 0, "port 1 is left out by GDAKIT_HCA_LIST")}, ""))
    expect(nics_of(gdakit, two, "mlx5_4,mlx5_0"),
           ({}, "GDAKIT_HCA_LIST names mlx5_4, where this host has mlx5_0, mlx5_1"))
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    expect(map_of(gdakit, ""), [(0, "mlx5_0", "number 1 of 2 that are as near")])
    expect(map_of(gdakit, "mlx5_1,mlx5_0"), [(0, "mlx5_1", "by GDAKIT_HCA_MAP")])
    expect(map_of(gdakit, "mlx5_7"),
           [(0, "", "GDAKIT_HCA_MAP gives the PE of local rank 0 the NIC mlx5_7, where this host "
                    "has mlx5_0, mlx5_1")])


if __name__ == "__main__":
    main()

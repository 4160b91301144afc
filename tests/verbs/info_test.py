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

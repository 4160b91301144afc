#!/usr/bin/env python3
"""What ordinary programs see of the soft ConnectXes in /sys and /dev.

    tests/verbs/sysfs_test.py GDAKIT
"""

import sys

sys.dont_write_bytecode = True

import client

NICS = "/sys/class/infiniband"

# A command of the shell, and what it says.
COMMANDS = (
    (f"ls {NICS}", "mlx5_0\nmlx5_1\n"),
    (f"ls -1 {NICS}/", "mlx5_0\nmlx5_1\n"),
    (f"ls -l {NICS} | wc -l", "3\n"),
    (f"ls -ld {NICS}/mlx5_0/ports | cut -c1", "d\n"),
    (f"ls {NICS}_verbs", "abi_version\nuverbs0\nuverbs1\n"),
    (f"cat {NICS}/mlx5_0/node_guid", "0c42:a103:0000:0001\n"),
    (f"head -c 4 {NICS}/mlx5_1/ports/1/state", "4: A"),
    (f"for nic in {NICS}/*; do echo $nic; done", f"{NICS}/mlx5_0\n{NICS}/mlx5_1\n"),
    (f"find {NICS}/ -maxdepth 1 | sort", f"{NICS}/\n{NICS}/mlx5_0\n{NICS}/mlx5_1\n"),
    (f"find {NICS}/mlx5_0/ -maxdepth 1 -name 'board*'", f"{NICS}/mlx5_0/board_id\n"),
    (f"grep -r -l 15b3 {NICS}/mlx5_0/device/vendor", f"{NICS}/mlx5_0/device/vendor\n"),
    (f"readlink {NICS}/mlx5_0 | grep -o 'infiniband/.*'", "infiniband/mlx5_0\n"),
    (f"readlink -f {NICS}/mlx5_1/device | grep -o '[^/]*$'", "0000:02:00.0\n"),
    (f"readlink -f {NICS}/mlx5_1/device/.. | grep -o '[^/]*$'", "0000:00:02.0\n"),
    (f"wc -c < {NICS}/mlx5_0/device/../config", "4096\n"),
    (f"cat {NICS}/mlx5_0/device/current_link_speed", "32.0 GT/s PCIe\n"),
    (f"cat {NICS}/mlx5_0/device/iommu_group/type", "identity\n"),
    (f"basename $(readlink {NICS}/mlx5_0/device/driver)", "mlx5_core\n"),
    ("cat /sys/module/mlx5_core/version /sys/module/ib_uverbs/initstate",
     "24.10-0.7.0\nlive\n"),
    ("test -d /sys/module/mlx5_ib && echo yes", "yes\n"),
    ("tail -1 /sys/fs/cgroup/some/group/rdma.max", "mlx5_1 hca_handle=max hca_object=max\n"),
    (f"test -d {NICS} && echo yes", "yes\n"),
    (f"test -L {NICS}/mlx5_0 && echo yes", "yes\n"),
    (f"test -r {NICS}/mlx5_0/node_guid && echo yes", "yes\n"),
    (f"test -e {NICS}/mlx5_2 || echo no", "no\n"),
    (f"bash -c '[[ -d {NICS} && -r {NICS}/mlx5_0/hca_type && -L {NICS}/mlx5_0 ]]' && echo yes",
     "yes\n"),
    (f"stat -c %F {NICS}/mlx5_0", "symbolic link\n"),
    ("stat -c '%F %t:%T' /dev/infiniband/uverbs1", "character special file e7:c1\n"),
    ("test -c /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0 && echo yes", "yes\n"),
    ("test -e /dev/infiniband/uverbs2 || echo no", "no\n"),
)

IN_PYTHON = f"""
import os, pathlib
assert sorted(os.listdir("{NICS}")) == ["mlx5_0", "mlx5_1"], os.listdir("{NICS}")
with os.scandir("{NICS}") as entries:
    found = sorted((one.name, one.is_dir(), one.is_symlink()) for one in entries)
assert found == [("mlx5_0", True, True), ("mlx5_1", True, True)], found
assert os.stat("{NICS}/mlx5_0").st_ino != os.lstat("{NICS}/mlx5_0").st_ino
assert os.path.isdir("{NICS}") and os.access("{NICS}/mlx5_1/fw_ver", os.R_OK)
assert os.readlink("{NICS}/mlx5_0").endswith("/infiniband/mlx5_0")
assert os.path.realpath("{NICS}/mlx5_0/device").endswith("/0000:01:00.0")
assert [one.name for one in pathlib.Path("{NICS}").glob("*_1")] == ["mlx5_1"]
folder = os.open("{NICS}", os.O_RDONLY | os.O_DIRECTORY)
assert sorted(os.listdir(folder)) == ["mlx5_0", "mlx5_1"]
assert os.stat("mlx5_0/hca_type", dir_fd=folder).st_size > 0
"""


def main():
    fabric = client.Fabric(sys.argv[1], "--nics", "2")
    failed = 0
    checks = [(("sh", "-c", command), said) for command, said in COMMANDS]
    checks.append(((sys.executable, "-c", IN_PYTHON), ""))
    for words, said in checks:
        ran = fabric.run(*words)
        if (ran.stdout, ran.stderr, ran.returncode) != (said, "", 0):
            failed += 1
            print(f"--- {words[-1]}\nsaid {ran.stdout!r}, not {said!r}; status {ran.returncode}\n"
                  f"{ran.stderr}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Nodes of which something is broken, and what is said of it: `gdakit verbs --fail`.

Each row of JOBS is a failure, what `gdakit info` says of mlx5_0 (or, where there is no NIC, why),
and what a PE of a job of two says: pieces of the sentence. Without these the job is to succeed. A
NIC that is usable says so by what USABLE has. Each row of FILES is a failure, a command of the
shell, and what that prints.
"""

from typing import NamedTuple

USABLE = "port 1, "
NODE = "/dev/infiniband/uverbs0"
OPEN = f"mlx5dv_open_device with DEVX, on {NODE}: "
UAR = ("mlx5dv_devx_alloc_uar on mlx5_0", "Linux 5.7")
LIMIT = ("Cannot allocate memory", "ulimit -l", "memlock")
TOO_MANY = ("mlx5_0", "0x8 (limits exceeded)", "syndrome 0x19c6d6", "rdma resource show",
            "GDAKIT_QUEUES_PER_PEER")
NO_WAY = ("ibv_create_ah on mlx5_0", "GID ::ffff:127.0.0.1 (index 3)", "`ping`", "`show_gids`")
PCI = "/sys/class/infiniband/mlx5_0/device"


class Job(NamedTuple):
    fail: str
    info: tuple = (USABLE,)
    says: tuple = ()
    options: tuple = ()
    queues: str = "rc"  # GDAKIT_QUEUE_TYPE
    variables: tuple = ()


JOBS = (
    # Opening the device.
    Job("node=absent", ("libibverbs lists no RDMA NIC", "mlx5_0", "docker run --device"),
        ("mlx5_0", "ls -l /dev/infiniband")),
    Job("node=denied", (OPEN + "Permission denied", f"ls -l {NODE}"), (OPEN, "ls -l")),
    Job("driver=efa", ("no ConnectX (vendor 0x1d0f)",), ("efa_0", "no ConnectX")),
    Job("driver=bnxt_re", ("no ConnectX (vendor 0x14e4)",), ("bnxt_re_0", "no ConnectX")),
    Job("name=roce_rail"),
    Job("devx=EOPNOTSUPP", (OPEN + "Operation not supported", "has no DEVX"), (OPEN, "Linux 5.7")),
    Job("devx=EPERM", (OPEN + "Operation not permitted", f"ls -l {NODE}"), (OPEN, "ls -l")),
    Job("get_context=ENODEV", (OPEN + "No such device", "docker run"), (OPEN, "docker run")),
    Job("handles=0", (OPEN + "Resource temporarily unavailable", "rdma.max"),
        (OPEN, "rdma.max")),
    Job("library=libmlx5.so.1", ("dlopen: ", "libmlx5.so.1: cannot open shared object file"),
        ("ibverbs-providers", "in a container, too")),
    Job("library=libibverbs.so.1", ("dlopen: ", "libibverbs.so.1: cannot open"), ("libibverbs1",)),
    Job("symbol=ibv_reg_mr_iova2", ("libibverbs.so", "has no ibv_reg_mr_iova2", "IBVERBS_1.8"),
        ("older than rdma-core 35", "update it")),
    Job("symbol=mlx5dv_devx_umem_reg_ex", ("libmlx5.so", "MLX5_1.19"), ("update it",)),
    Job("module=mlx5_ib", ("no RDMA NIC that the kernel drives", "lsmod | grep mlx5_ib"),
        ("`ibv_devices` lists none",)),
    Job("module=gdrdrv"),  # GDRCopy, which gdakit does not use
    Job("module=ib_uverbs", ("ibv_get_device_list: Function not implemented", "ib_uverbs"),
        ("load the kernel's modules", "lsmod")),
    # What the device is.
    Job("query_device=EIO", ("ibv_query_device: Input/output error",), ("mlx5_0",)),
    Job("QUERY_HCA_CAP=0x2/0x5",
        ("QUERY_HCA_CAP of its atomics: Remote I/O error", "0x2 (bad operation)", "0x5"),
        ("mlx5_0",)),
    Job("atomics=none", ("lacks atomic operations", "PCI_ATOMIC_MODE"), ("mlx5_0: it lacks",)),
    Job("atomics=standard", ("queue pairs: masked compare-and-swap, masked fetch-and-add",),
        ("mlx5_0: it lacks",)),
    Job("atomics=swapped", ("bring back what they fetch big-endian",),
        ("mlx5_0: atomic operations of 8 bytes",)),
    Job("dc=absent"),
    Job("lag=bonded"),
    # Its port.
    Job("port=down", ("port 1 is DOWN", "`ibstat`"), ("mlx5_0: port 1 is DOWN",)),
    Job("port=init", ("port 1 is INIT", "sminfo"), ("mlx5_0: port 1 is INIT",), ("--link", "ib")),
    Job("port=armed", ("port 1 is ARMED",), ("mlx5_0: port 1 is ARMED",), ("--link", "ib")),
    Job("ports=2"),
    Job("ports=2,port=down:1", ("port 1 is DOWN",)),  # and by the second one
    Job("ports=2,port=init:2", options=("--link", "ib")),
    Job("ports=2,port=down", ("port 1 is DOWN",), ("mlx5_0: port 1 is DOWN", "port 2 is DOWN")),
    Job("query_port=EIO", ("port 1 ibv_query_port: Input/output error",), ("mlx5_0: port 1",)),
    Job("gids=none", ("port 1 has no GID", "`show_gids`", "may be down"),
        ("mlx5_0: port 1 has no GID",)),
    Job("query_gid_table=EIO", ("has no GID that can be read: ibv_query_gid_table: Input/output",),
        ("mlx5_0: port 1 has no GID",)),
    Job("gids=local"),
    Job("gids=v1"),
    Job("gids_move=1"),  # before the NIC is open
    Job("gids_move=2"),  # behind the look that opens it: it is looked up again by its value
    Job("grh=required", options=("--link", "ib")),
    Job("mtu=1024", ("MTU 1024",)),
    # Memory and doorbells.
    Job("reg_mr=EFAULT", says=("symmetric heap: ibv_reg_mr_iova2 of", "mlx5_0: Bad address")),
    Job("register_umem=EFAULT", says=("mlx5dv_devx_umem_reg_ex of", "mlx5_0: Bad address")),
    Job("locked=1M", says=("symmetric heap", "ibv_reg_mr_iova2 of 67108864 bytes", *LIMIT)),
    Job("locked=64M", says=("result slots", "ibv_reg_mr_iova2 of", *LIMIT)),
    Job("objects=3", says=("mlx5_0: Resource temporarily unavailable",)),
    Job("dmabuf=EOPNOTSUPP"),  # PEs with host memory use none
    Job("uar=nc"),  # doorbells are then in pages that combine writes
    Job("uar=bf"),
    Job("uar=all", says=(*UAR, "Operation not supported")),
    Job("uars=0", says=(*UAR, "Cannot allocate memory")),
    Job("uars=1"),  # queues share it
    # Queues and their ways.
    Job("qps=2", says=("a send queue to PE", "CREATE_QP on mlx5_0", *TOO_MANY)),
    Job("cqs=1", says=("a send queue to PE", "CREATE_CQ on mlx5_0", *TOO_MANY)),
    Job("CREATE_CQ=0x3/0x1234", says=("CREATE_CQ on mlx5_0", "0x3 (bad parameter)", "0x1234")),
    Job("INIT2RTR_QP=0x3/0x77", says=("connection to PE", "INIT2RTR_QP on mlx5_0", "0x77")),
    Job("0x504=0x10", says=("RTR2RTS_QP on mlx5_0", "0x10 (bad state of the queue pair)")),
    Job("route=ETIMEDOUT", says=("connection to PE", "Connection timed out", *NO_WAY)),
    Job("route=ENETUNREACH", says=("connection to PE", "Network is unreachable", *NO_WAY)),
    # Puts.
    Job("dma=denied", says=("remote access error", "QP", "mlx5_0")),
    Job("doorbells=lost", says=("stalled: block 0", "to blame: the NIC"),
        variables=("GDAKIT_WATCHDOG=1",)),
    # The MTU is no failure: it is the network that loses everything.
    Job("mtu=4096", says=("transport retry exceeded",), options=("--faults", "drop=100%")),
    Job("traffic_class=106"),
    Job("acs=on"),
    Job("iommu=DMA"),
    Job("pci_width=8"),
    Job("pci_speed=8.0"),
    Job("relaxed_ordering=off"),
    # Targets of DC.
    Job("dc=absent", says=("GDAKIT_QUEUE_TYPE=rc", "mlx5_0", "no targets of DC"), queues="dc"),
    Job("CREATE_RMP=0x3/0x1234",
        says=("DC target", "CREATE_RMP on mlx5_0", "0x3 (bad parameter)", "0x1234"), queues="dc"),
    Job("CREATE_DCT=0x8/0x19c6d6", says=("DC target", "CREATE_DCT on mlx5_0", *TOO_MANY),
        queues="dc"),
    Job("pe1:CREATE_DCT=0x8/0x19c6d6",
        says=("CREATE_DCT on mlx5_0", "PE 1 could not make its DC target"), queues="dc"),
    # Of one PE, or of one NIC.
    Job("pe1:port=down", says=("mlx5_0: port 1 is DOWN", "PE 1 ended the job")),
    Job("pe1:devx=EPERM", says=(OPEN + "Operation not permitted", "PE 1 ended the job")),
    Job("pe0:atomics=none", says=("mlx5_0: it lacks", "PE 0 ended the job")),
    Job("pe1:CREATE_QP=0x8/0x19c6d6", says=(*TOO_MANY, "PE 1 could not make its part")),
    Job("pe1:gids=v1", says=("connection to PE", "of RoCE v2 and the other of v1 (GDAKIT_GID",
                             "`show_gids`")),
    Job("pe1:mtu=1024"),
    Job("pe1:name=roce_rail"),
    Job("pe0:gids=local", says=("connection to PE", "IPv4 and the other of IPv6 (GDAKIT_GID")),
    Job("mlx5_0/port=down", ("port 1 is DOWN",), options=("--nics", "2")),
    Job("pe1:mlx5_0/devx=EPERM", options=("--nics", "2")),
    Job("mlx5_1/port=down", options=("--nics", "2")),
)


class Check(NamedTuple):
    """What `gdakit check` finds: the step that tells of it first, FAIL or warning, and pieces of
    what the system answered there. Without a step nothing is wrong."""
    fail: str
    step: str = ""
    verdict: str = ""
    answer: tuple = ()
    words: tuple = ()
    options: tuple = ()


CHECKS = (
    Check("node=absent", "nodes", "FAIL", ("ENOENT",)),
    Check("node=denied", "nodes", "FAIL", ("EACCES",)),
    Check("driver=efa", "device", "FAIL", ("efa_0 (vendor 0x1d0f)",)),
    Check("driver=bnxt_re", "device", "FAIL", ("bnxt_re_0 (vendor 0x14e4)",)),
    Check("name=roce_rail"),
    Check("devx=EOPNOTSUPP", "device", "FAIL", (OPEN, "EOPNOTSUPP")),
    Check("devx=EPERM", "device", "FAIL", (OPEN, "EPERM")),
    Check("get_context=ENODEV", "device", "FAIL", (OPEN, "ENODEV")),
    Check("handles=0", "limits", "FAIL", ("mlx5_0 hca_handle=0",)),
    Check("objects=3", "limits", "warning", ("hca_object=3",)),
    Check("library=libmlx5.so.1", "libraries", "FAIL", ("dlopen: ", "libmlx5.so.1")),
    Check("library=libibverbs.so.1", "libraries", "FAIL", ("dlopen: ", "libibverbs.so.1")),
    Check("symbol=ibv_reg_mr_iova2", "libraries", "FAIL", ("has no ibv_reg_mr_iova2",)),
    Check("module=mlx5_ib", "modules", "FAIL", ("not loaded: mlx5_ib",)),
    Check("module=ib_uverbs", "modules", "FAIL", ("ib_uverbs",)),
    Check("query_device=EIO", "device", "FAIL", ("ibv_query_device", "EIO")),
    Check("QUERY_HCA_CAP=0x2/0x5", "atomics", "FAIL", ("QUERY_HCA_CAP", "EREMOTEIO")),
    Check("atomics=none", "atomics", "FAIL", ("operations 0x0",)),
    Check("atomics=standard", "atomics", "FAIL", ("operations 0x3",)),
    Check("atomics=swapped", "atomics", "FAIL", ("fetched big-endian",)),
    Check("uar=nc", "device", "warning", ("NC_DEDICATED", "EOPNOTSUPP", "type BF can be had")),
    Check("uar=all", "device", "FAIL", ("NC_DEDICATED", "type BF", "EOPNOTSUPP")),
    Check("uars=0", "device", "FAIL", ("NC_DEDICATED",)),
    Check("port=down", "port", "FAIL", ("DOWN",)),
    Check("port=init", "port", "FAIL", ("INIT",)),
    Check("port=armed", "port", "FAIL", ("ARMED",)),
    Check("ports=2"),
    Check("ports=2,port=down:1"),
    Check("ports=2,port=down", "port", "FAIL", ("DOWN",)),
    Check("query_port=EIO", "port", "FAIL", ("ibv_query_port", "EIO")),
    Check("gids=none", "gid", "FAIL", ("there is none",)),
    Check("query_gid_table=EIO", "gid", "FAIL", ("ibv_query_gid_table", "EIO")),
    Check("gids=local", "gid", "warning", ("link-local",)),
    Check("gids=v1", "gid", "warning", ("RoCE v1 alone",)),
    Check("gids_move=1"),
    Check("mtu=1024", "port", "warning", ("1024 of at most 4096",)),
    Check("reg_mr=EFAULT", "put", "FAIL", ("ibv_reg_mr_iova2 of", "EFAULT")),
    Check("register_umem=EFAULT", "put", "FAIL", ("mlx5dv_devx_umem_reg_ex of", "EFAULT")),
    Check("locked=1M", "put", "FAIL", ("ibv_reg_mr_iova2 of", "limit of locked memory")),
    Check("qps=0", "put", "FAIL", ("CREATE_QP on mlx5_0", "0x8 (limits exceeded)")),
    Check("cqs=0", "put", "FAIL", ("CREATE_CQ on mlx5_0", "0x8 (limits exceeded)")),
    Check("CREATE_CQ=0x3/0x1234", "put", "FAIL", ("CREATE_CQ on mlx5_0", "0x1234")),
    Check("INIT2RTR_QP=0x3/0x77", "put", "FAIL", ("INIT2RTR_QP on mlx5_0", "0x77")),
    Check("0x504=0x10", "put", "FAIL", ("RTR2RTS_QP on mlx5_0",)),
    Check("route=ETIMEDOUT", "put", "FAIL", ("ibv_create_ah on mlx5_0", "Connection timed out")),
    Check("route=ENETUNREACH", "put", "FAIL",
          ("ibv_create_ah on mlx5_0", "Network is unreachable")),
    Check("dma=denied", "put", "FAIL", ("local protection error", "status 0x4")),
    Check("doorbells=lost", "put", "FAIL", ("neither completion nor error within 300 ms",),
          words=("--limit", "0.3")),
    Check("pci_width=8", "pcie", "warning", ("x8 at", "of at most x16")),
    Check("pci_speed=8.0", "pcie", "warning", ("8.0 GT/s", "32.0 GT/s")),
    Check("iommu=DMA", "pcie", "warning", ("DMA; wanted is identity",)),
    Check("relaxed_ordering=off", "pcie", "warning", ("relaxed ordering off",)),
    Check("read_request=512"),
    Check("traffic_class=106"),
    Check("dmabuf=EOPNOTSUPP"),
    Check("dc=absent"),
    Check("grh=required", options=("--link", "ib")),
    Check("lag=bonded"),
    Check("uar=bf"),
)

FILES = (
    ("name=ibp", "ls /sys/class/infiniband", "ibp0\n"),
    ("driver=efa", f"cat {PCI.replace('mlx5_0', 'efa_0')}/vendor", "0x1d0f\n"),
    ("port=init", "cat /sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT\n"),
    ("ports=2", "ls /sys/class/infiniband/mlx5_0/ports", "1\n2\n"),
    ("ports=2,port=init:2", "cat /sys/class/infiniband/mlx5_0/ports/*/state",
     "4: ACTIVE\n2: INIT\n"),
    ("ports=2", "cat /sys/class/infiniband/mlx5_0/ports/*/gids/3",
     "0000:0000:0000:0000:0000:ffff:7f00:0001\n0000:0000:0000:0000:0000:ffff:7f00:0011\n"),
    ("gids=local", "ls /sys/class/infiniband/mlx5_0/ports/1/gids", "0\n1\n"),
    ("pci_width=8", f"cat {PCI}/current_link_width {PCI}/max_link_width", "8\n16\n"),
    ("pci_speed=8.0", f"cat {PCI}/current_link_speed", "8.0 GT/s PCIe\n"),
    ("iommu=DMA", f"cat {PCI}/iommu_group/type", "DMA\n"),
    ("acs=on", f"od -An -tx1 -j262 -N1 {PCI}/../config", " 1d\n"),
    ("read_request=512", f"od -An -tx1 -j105 -N1 {PCI}/config", " 28\n"),
    ("relaxed_ordering=off", f"od -An -tx1 -j104 -N1 {PCI}/config", " 20\n"),
    ("numa_node=1", f"cat {PCI}/numa_node", "1\n"),
    ("traffic_class=106", "cat /sys/class/infiniband/mlx5_0/tc/1/traffic_class",
     "Global tclass=106\n"),
    ("handles=4,objects=99", "cat /sys/fs/cgroup/rdma.max", "mlx5_0 hca_handle=4 hca_object=99\n"),
    ("module=mlx5_core:4.9", "cat /sys/module/mlx5_core/version", "4.9\n"),
    ("module=ib_core", "ls /sys/module/ib_core /sys/class/infiniband 2>/dev/null | wc -l", "0\n"),
    ("module=nvidia_peermem:580.1", "cat /sys/module/nvidia_peermem/version", "580.1\n"),
    ("node=absent", f"test -e {NODE} || echo no", "no\n"),
    ("node=denied", f"test -e {NODE} && test ! -r {NODE} && stat -c %A {NODE}", "crw-------\n"),
    ("mlx5_0/acs=on", f"od -An -tx1 -j262 -N1 {PCI.replace('_0', '_1')}/../config", " 00\n"),
    ("pe3:numa_node=1", f"cat {PCI}/numa_node", "0\n"),
    ("pe3:numa_node=1", f"GDAKIT_RANK=3 cat {PCI}/numa_node", "1\n"),
)

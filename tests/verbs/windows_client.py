"""Memory windows as libmlx5 binds them: what they grant, and each way in which that ends.

Accesses that are refused break the connection, so that each has a pair of its own.
"""

import pyverbs.enums as e
from connected_pair import REMOTE, Pair, poll
from pyverbs.mr import MW, MWBind, MWBindInfo
from pyverbs.wr import SGE, RecvWR, SendWR

WINDOW = 1024  # bytes, from FIRST on
FIRST = 512
PATTERN = "abcdefgh" * (WINDOW // 8)


class Windows:
    """The far end has a window, and the near end uses it."""

    def __init__(self, kind, rights=REMOTE):
        self.pair = Pair(mr_access=REMOTE | e.IBV_ACCESS_MW_BIND)
        self.near, self.far = self.pair.near, self.pair.far
        self.kind = kind
        self.mw = MW(self.pair.pd, kind)
        self.rkey = self.mw.rkey
        self.bind(FIRST, WINDOW, rights)

    def bind(self, first, size, rights):
        info = MWBindInfo(self.far.mr, self.far.mr.buf + first, size, rights)
        if self.kind == e.IBV_MW_TYPE_1:
            self.far.qp.bind_mw(self.mw, MWBind(info, e.IBV_SEND_SIGNALED))
            poll(self.far.cq)
            self.rkey = self.mw.rkey
            return
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(self.mw, info)
        self.far.qp.post_send(wr)
        assert poll(self.far.cq)[0].status == e.IBV_WC_SUCCESS
        self.rkey = wr.rkey

    def access(self, opcode=e.IBV_WR_RDMA_WRITE, first=FIRST, size=WINDOW, rkey=None):
        """The status of a WRITE or READ through the window."""
        wr = SendWR(opcode=opcode, num_sge=1,
                    sg=[SGE(self.near.mr.buf, size, self.near.mr.lkey)])
        wr.set_wr_rdma(rkey or self.rkey, self.far.mr.buf + first)
        self.near.qp.post_send(wr)
        return poll(self.near.cq)[0].status

    def invalidate_here(self):
        wr = SendWR(opcode=e.IBV_WR_LOCAL_INV)
        wr.imm_data = self.rkey
        self.far.qp.post_send(wr)
        return poll(self.far.cq)[0].status

    def invalidate_from_there(self):
        self.far.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(self.far.mr.buf, 8, self.far.mr.lkey)]))
        wr = SendWR(opcode=e.IBV_WR_SEND_WITH_INV, num_sge=1,
                    sg=[SGE(self.near.mr.buf, 8, self.near.mr.lkey)])
        wr.imm_data = self.rkey
        self.near.qp.post_send(wr)
        assert poll(self.near.cq)[0].status == e.IBV_WC_SUCCESS
        return poll(self.far.cq)[0]


def check_contents(kind):
    windows = Windows(kind)
    windows.near.mr.write(PATTERN, WINDOW)
    assert windows.access() == e.IBV_WC_SUCCESS
    assert windows.far.mr.read(WINDOW, FIRST) == PATTERN.encode()
    windows.near.mr.write("\0" * WINDOW, WINDOW)
    assert windows.access(e.IBV_WR_RDMA_READ) == e.IBV_WC_SUCCESS
    assert windows.near.mr.read(WINDOW, 0) == PATTERN.encode()


def check_refusals(kind):
    for wrong in ({"first": FIRST - 1}, {"size": WINDOW + 1}, {"first": FIRST + WINDOW}):
        assert Windows(kind).access(**wrong) == e.IBV_WC_REM_ACCESS_ERR, wrong
    only_read = Windows(kind, e.IBV_ACCESS_REMOTE_READ)
    assert only_read.access(e.IBV_WR_RDMA_READ) == e.IBV_WC_SUCCESS
    assert only_read.access() == e.IBV_WC_REM_ACCESS_ERR
    windows = Windows(kind)
    assert windows.access(rkey=windows.rkey ^ 0x10) == e.IBV_WC_REM_ACCESS_ERR
    windows = Windows(kind)
    windows.mw.close()
    assert windows.access() == e.IBV_WC_REM_ACCESS_ERR


def check_type_1():
    windows = Windows(e.IBV_MW_TYPE_1)
    before = windows.rkey
    windows.bind(FIRST, WINDOW, REMOTE)
    assert windows.rkey != before
    assert windows.access() == e.IBV_WC_SUCCESS
    assert windows.access(rkey=before) == e.IBV_WC_REM_ACCESS_ERR
    windows = Windows(e.IBV_MW_TYPE_1)
    before = windows.rkey
    windows.bind(0, 0, 0)
    assert windows.access(rkey=before) == e.IBV_WC_REM_ACCESS_ERR


def check_type_2():
    windows = Windows(e.IBV_MW_TYPE_2)
    assert windows.invalidate_here() == e.IBV_WC_SUCCESS
    assert windows.access() == e.IBV_WC_REM_ACCESS_ERR
    windows = Windows(e.IBV_MW_TYPE_2)
    assert windows.invalidate_here() == e.IBV_WC_SUCCESS
    assert windows.invalidate_here() == e.IBV_WC_MW_BIND_ERR
    windows = Windows(e.IBV_MW_TYPE_2)
    came = windows.invalidate_from_there()
    assert came.status == e.IBV_WC_SUCCESS and came.wc_flags & e.IBV_WC_WITH_INV, came
    windows.bind(FIRST, WINDOW, REMOTE)
    assert windows.access() == e.IBV_WC_SUCCESS
    windows.invalidate_from_there()
    assert windows.access() == e.IBV_WC_REM_ACCESS_ERR


for each in (e.IBV_MW_TYPE_1, e.IBV_MW_TYPE_2):
    check_contents(each)
    check_refusals(each)
check_type_1()
check_type_2()
print("windows do what they should")

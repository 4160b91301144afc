"""Two RC queue pairs of one process, connected with each other, through pyverbs.

Run by the distribution's Python on a soft ConnectX: gdakit verbs -- python3 ...
"""

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

REMOTE = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
          | e.IBV_ACCESS_REMOTE_ATOMIC)
DEPTH = 64


class End:
    """One of the two, with memory of its own."""

    def __init__(self, context, pd, cqes, mr_access):
        self.cq = CQ(context, cqes)
        self.mr = MR(pd, 4096, mr_access)
        capacity = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = REMOTE
        self.qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=capacity),
                     attributes)

    def connect(self, peer, gid):
        route = GlobalRoute(dgid=gid, sgid_index=1)
        attributes = QPAttr(port_num=1)
        attributes.dest_qp_num = peer.qp.qp_num
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = 12
        attributes.timeout = 14
        attributes.retry_cnt = attributes.rnr_retry = 7
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        self.qp.to_rts(attributes)


class Pair:
    def __init__(self, cqes=DEPTH, mr_access=REMOTE):
        self.context = Context(name=get_device_list()[0].name.decode())
        self.pd = PD(self.context)
        self.near = End(self.context, self.pd, cqes, mr_access)
        self.far = End(self.context, self.pd, DEPTH, mr_access)
        gid = GID(str(self.context.query_gid(1, 1)))
        self.near.connect(self.far, gid)
        self.far.connect(self.near, gid)


def poll(cq, count=1):
    """The next completions; waits for them."""
    found = []
    while len(found) < count:
        found += cq.poll(count - len(found))[1]
    return found

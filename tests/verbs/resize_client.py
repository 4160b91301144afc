"""WRITEs complete in order while their completion queue is resized again and again.

What has not been polled survives each resize, and so does what completes meanwhile.
"""

import random

import pyverbs.enums as e
from connected_pair import DEPTH, Pair, poll
from pyverbs.wr import SGE, SendWR


class Traffic:
    def __init__(self):
        self.pair = Pair(cqes=DEPTH)
        self.posted = self.polled = 0

    def post(self):
        near, far = self.pair.near, self.pair.far
        wr = SendWR(wr_id=self.posted, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1,
                    sg=[SGE(near.mr.buf, 64, near.mr.lkey)])
        wr.set_wr_rdma(far.mr.rkey, far.mr.buf)
        near.qp.post_send(wr)
        self.posted += 1

    def poll(self, count):
        for wc in poll(self.pair.near.cq, count):
            assert wc.status == e.IBV_WC_SUCCESS, wc
            assert wc.wr_id == self.polled, (wc.wr_id, self.polled)
            self.polled += 1

    def outstanding(self):
        return self.posted - self.polled


def main():
    chance = random.Random(7)
    traffic = Traffic()
    cq = traffic.pair.near.cq
    for _ in range(500):
        room = min(cq.cqe, DEPTH) - traffic.outstanding()
        for _ in range(chance.randint(0, room)):
            traffic.post()
        traffic.poll(chance.randint(0, traffic.outstanding()))
        # What is posted may complete at any time, and so must fit.
        wanted = chance.choice([size for size in (1, 3, 7, 15, 31, 63, 127)
                                if size >= traffic.outstanding()])
        cq.resize(wanted)
        assert cq.cqe >= wanted
    traffic.poll(traffic.outstanding())
    assert traffic.posted > 1000, traffic.posted
    print(f"{traffic.posted} WRITEs")


main()

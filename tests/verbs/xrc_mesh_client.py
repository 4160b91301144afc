"""XRC between 8 processes and 8 others: each receives by one shared receive queue from all of the
others, and compares what came, and in which order from each."""

import multiprocessing
import os
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

SIDE = 8
MESSAGES = 20  # from each to each
BYTES = 64
ALL = SIDE * MESSAGES


def text(sender, receiver, number):
    return f"{sender} to {receiver}: {number}".ljust(BYTES)


def wait_for(cq, count):
    """So many completions. 16 processes that polled without rest would keep the cores."""
    found = []
    while len(found) < count:
        found += cq.poll(count - len(found))[1]
        time.sleep(0.002)
    return found


def way_to(context, qpn):
    attributes = QPAttr(port_num=1)
    attributes.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    attributes.dest_qp_num = qpn
    attributes.path_mtu = e.IBV_MTU_1024
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
    attributes.min_rnr_timer = 1
    attributes.timeout = 14
    attributes.retry_cnt = attributes.rnr_retry = 7
    gid = GID(str(context.query_gid(1, 1)))
    attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=gid, sgid_index=1))
    return attributes


class Process:
    """What both sides have: a NIC, and a queue pair for each of the other side."""

    def __init__(self):
        self.context = Context(name=get_device_list()[0].name.decode())
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 2 * ALL)
        self.mr = MR(self.pd, ALL * BYTES, e.IBV_ACCESS_LOCAL_WRITE)

    def connect(self, qps, numbers):
        for qp, number in zip(qps, numbers):
            qp.to_rts(way_to(self.context, number))


def receive(pipe, mine):
    own = Process()
    domain = XRCD(own.context, XRCDInitAttr(
        e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, -1))
    asked = SrqInitAttrEx(max_wr=ALL)
    asked.srq_type = e.IBV_SRQT_XRC
    asked.pd, asked.xrcd, asked.cq = own.pd, domain, own.cq
    asked.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD
                       | e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
    srq = SRQ(own.context, asked)
    for place in range(ALL):
        srq.post_recv(RecvWR(wr_id=place, num_sge=1, sg=[
            SGE(own.mr.buf + place * BYTES, BYTES, own.mr.lkey)]))
    kind = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_RECV, comp_mask=e.IBV_QP_INIT_ATTR_XRCD, xrcd=domain)
    qps = [QP(own.context, kind) for _ in range(SIDE)]
    pipe.send((srq.get_srq_num(), [qp.qp_num for qp in qps]))
    own.connect(qps, pipe.recv())
    pipe.send("connected")
    pipe.recv()
    came = {sender: [] for sender in range(SIDE)}
    for wc in wait_for(own.cq, ALL):
        assert wc.status == e.IBV_WC_SUCCESS and wc.byte_len == BYTES, wc
        words = own.mr.read(BYTES, wc.wr_id * BYTES).decode()
        came[int(words.split()[0])].append(words)
    for sender, messages in came.items():
        assert messages == [text(sender, mine, n) for n in range(MESSAGES)], (sender, messages)
    pipe.send("compared")


def send(pipe, mine):
    own = Process()
    kind = QPInitAttrEx(qp_type=e.IBV_QPT_XRC_SEND, sq_sig_all=1, scq=own.cq, pd=own.pd,
                        comp_mask=e.IBV_QP_INIT_ATTR_PD,
                        cap=QPCap(max_send_wr=MESSAGES, max_recv_wr=0, max_recv_sge=0))
    qps = [QP(own.context, kind) for _ in range(SIDE)]
    pipe.send([qp.qp_num for qp in qps])
    receivers = pipe.recv()
    own.connect(qps, [number for _, number in receivers])
    pipe.send("connected")
    pipe.recv()
    for number in range(MESSAGES):
        for receiver, qp in enumerate(qps):
            place = (number * SIDE + receiver) * BYTES
            own.mr.write(text(mine, receiver, number), BYTES, place)
            wr = SendWR(num_sge=1, sg=[SGE(own.mr.buf + place, BYTES, own.mr.lkey)])
            wr.set_qp_type_xrc(receivers[receiver][0])
            qp.post_send(wr)
    assert all(wc.status == e.IBV_WC_SUCCESS for wc in wait_for(own.cq, ALL))
    pipe.send("sent")


def main():
    spawn = multiprocessing.get_context("spawn")  # each opens a NIC of its own

    def start(target):
        pipes = [spawn.Pipe() for _ in range(SIDE)]
        found = [spawn.Process(target=target, args=(far, mine))
                 for mine, (_, far) in enumerate(pipes)]
        for process, (_, far) in zip(found, pipes):
            process.start()
            far.close()  # so that its end is noticed here
        return [near for near, _ in pipes], found

    receivers, receiving = start(receive)
    senders, sending = start(send)
    targets = [pipe.recv() for pipe in receivers]
    initiators = [pipe.recv() for pipe in senders]
    for mine, pipe in enumerate(receivers):
        pipe.send([numbers[mine] for numbers in initiators])
    for mine, pipe in enumerate(senders):
        pipe.send([(srq, numbers[mine]) for srq, numbers in targets])
    everyone = receivers + senders
    assert {pipe.recv() for pipe in everyone} == {"connected"}
    for pipe in everyone:
        pipe.send("go")
    assert [pipe.recv() for pipe in everyone] == ["compared"] * SIDE + ["sent"] * SIDE
    for process in receiving + sending:
        process.join()
        assert process.exitcode == 0
    print(f"{SIDE} by {SIDE} processes, {MESSAGES} messages each: compared")


if __name__ == "__main__":
    main()

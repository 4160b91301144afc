// Queue pairs of service types UC and UD as clients ask for them, and what goes between those of
// two devices.
#include <array>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/transition_masks.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using format::CqeOpcode;

constexpr std::size_t kTo = 512, kData = kTo + format::kGrhBytes;

class Pair : public testing::Test {
 protected:
  explicit Pair(std::uint32_t type, const Spec& spec = own_spec())
      : one(open_device(spec)), other(open_device(spec, 1)), sender(*one), receiver(*other) {
    sender.type = receiver.type = type;
  }
  void make_all() {
    sender.make_all();
    receiver.make_all();
    sender.connect(receiver);
    receiver.connect(sender);
  }
  void fill(std::size_t at, std::size_t size, int byte) {
    std::memset(sender.payload() + at, byte, size);
  }
  CqeOpcode sent() { return format::cqe_opcode(sender.next(sender.send_cq).op_own); }

  std::unique_ptr<Device> one, other;
  Client sender, receiver;
};

struct UverbsUc : Pair {
  UverbsUc() : Pair(IB_UVERBS_QPT_UC) {}
};

TEST_F(UverbsUc, ComesToRtsWithWhatItsTypeRequires) {
  sender.make_all();
  ib_uverbs_modify_qp init = sender.to_init();
  init.attr_mask |= attr::kQkey;
  EXPECT_EQ(sender.modify(init), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_init()), 0);
  ib_uverbs_modify_qp rtr = sender.to_rtr(sender.qpn);
  rtr.attr_mask |= attr::kMaxPeerReads;
  EXPECT_EQ(sender.modify(rtr), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_rtr(sender.qpn)), 0);
  ib_uverbs_modify_qp rts = sender.to_rts();
  rts.attr_mask |= attr::kTimeout;
  EXPECT_EQ(sender.modify(rts), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_rts()), 0);
  const ib_uverbs_query_qp_resp told = sender.query();
  EXPECT_EQ(told.qp_state, 3);
  EXPECT_EQ(told.dest_qp_num, sender.qpn);
  EXPECT_EQ(told.rq_psn, rtr.rq_psn);
  EXPECT_EQ(told.sq_psn, rts.sq_psn);
}

TEST_F(UverbsUc, SendsAndWritesArrive) {
  make_all();
  fill(0, 4096, 'u');
  receiver.post_receive(kTo, 256);
  sender.post_send(0, 100);
  EXPECT_EQ(sent(), CqeOpcode::requester);
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, 100u);
  EXPECT_EQ(receiver.payload()[kTo + 99], std::byte{'u'});
  sender.post_write(0, 4096, receiver.address(4096), receiver.key);
  EXPECT_EQ(sent(), CqeOpcode::requester);
  // Nothing tells of a write; a message behind it comes later.
  receiver.post_receive(kTo, 256);
  sender.post_send(0, 1);
  receiver.next(receiver.receive_cq);
  EXPECT_EQ(receiver.payload()[4096], std::byte{'u'});
  EXPECT_EQ(receiver.payload()[8191], std::byte{'u'});
}

class Datagrams : public Pair {
 protected:
  explicit Datagrams(const Spec& spec = own_spec()) : Pair(IB_UVERBS_QPT_UD, spec) {}

  // As libmlx5 fills it of an address handle.
  static format::AvSegment to(const Gid& gid, std::uint16_t lid = 0) {
    format::AvSegment av{};
    av.rlid = Be16{lid};
    av.hop_limit = 64;
    std::memcpy(av.rgid, gid.data(), gid.size());
    return av;
  }
  format::AvSegment to_receiver(int gid = 1) const { return to(other->identity().gid(gid)); }
  // 100 bytes of this value.
  void send(int byte, const format::AvSegment& av, std::uint32_t qkey = kQkey) {
    fill(0, 100, byte);
    sender.post_datagram(0, 100, av, receiver.qpn, qkey);
    EXPECT_EQ(sent(), CqeOpcode::requester);
  }
};

struct UverbsUd : Datagrams {
  UverbsUd() : Datagrams() {}
};

TEST_F(UverbsUd, ComesToRtsWithItsQkey) {
  sender.make_all();
  ib_uverbs_modify_qp init = sender.to_init();
  init.attr_mask &= ~attr::kQkey;
  EXPECT_EQ(sender.modify(init), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_init()), 0);
  ib_uverbs_modify_qp rtr = sender.to_rtr(0);
  rtr.attr_mask |= attr::kPath;
  EXPECT_EQ(sender.modify(rtr), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_rtr(0)), 0);
  ib_uverbs_modify_qp rts = sender.to_rts();
  rts.attr_mask &= ~attr::kSendPsn;
  EXPECT_EQ(sender.modify(rts), EINVAL);
  ASSERT_EQ(sender.modify(sender.to_rts()), 0);
  const ib_uverbs_query_qp_resp told = sender.query();
  EXPECT_EQ(told.qp_state, 3);
  EXPECT_EQ(told.qkey, kQkey);
  EXPECT_EQ(told.sq_psn, rts.sq_psn);
}

TEST_F(UverbsUd, ADatagramArrivesBehindItsGrh) {
  make_all();
  receiver.post_receive(kTo, format::kGrhBytes + 100);
  send('d', to_receiver());
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, format::kGrhBytes + 100);
  EXPECT_EQ(received.flags_rqpn & 0xffffff, sender.qpn);
  EXPECT_NE(received.flags_rqpn & format::kCqeGrhInBuffer, 0u);
  EXPECT_EQ(receiver.payload()[kData], std::byte{'d'});
  EXPECT_EQ(receiver.payload()[kData + 99], std::byte{'d'});
  EXPECT_EQ(receiver.payload()[kData + 100], std::byte{0});
  const Gid own = other->identity().gid(1);
  constexpr std::size_t kDestination = 24;  // in an IPv6 header
  EXPECT_EQ(receiver.payload()[kTo], std::byte{0x60});
  EXPECT_EQ(std::memcmp(receiver.payload() + kTo + kDestination, own.data(), own.size()), 0);
}

TEST_F(UverbsUd, DatagramsGoBothWaysAndToOneself) {
  make_all();
  receiver.post_receive(kTo, 256);
  send(1, to_receiver());
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  sender.post_receive(kTo, 256);
  receiver.post_datagram(kData, 100, to(one->identity().gid(1)), received.flags_rqpn & 0xffffff);
  EXPECT_EQ(sender.next(sender.receive_cq).flags_rqpn & 0xffffff, receiver.qpn);
  EXPECT_EQ(sender.payload()[kData + 99], std::byte{1});
  sender.post_receive(kTo, 256);
  fill(0, 100, 2);
  sender.post_datagram(0, 100, to(one->identity().gid(1)), sender.qpn);
  EXPECT_EQ(sender.next(sender.receive_cq).flags_rqpn & 0xffffff, sender.qpn);
  EXPECT_EQ(sender.payload()[kData + 99], std::byte{2});
}

// The one behind it comes as the first.
TEST_F(UverbsUd, ADatagramWithAnotherQkeyOrForNobodyIsLost) {
  make_all();
  receiver.post_receive(kTo, 256);
  send(1, to_receiver(), kQkey + 1);
  send(2, to({0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  send(3, to_receiver(3));
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(received.wqe_counter, 0u);
  EXPECT_EQ(receiver.payload()[kData], std::byte{3});
}

TEST_F(UverbsUd, ASendQueueThatHasFailedIsBroughtBack) {
  make_all();
  const std::uint32_t key = sender.key;
  sender.key ^= 0x100;
  sender.post_datagram(0, 100, to_receiver(), receiver.qpn);
  sender.key = key;
  EXPECT_EQ(sent(), CqeOpcode::requester_error);
  EXPECT_EQ(sender.query().qp_state, 5);
  ASSERT_EQ(sender.modify(sender.to_state(3)), 0);
  EXPECT_EQ(sender.query().qp_state, 3);
  receiver.post_receive(kTo, 256);
  send(4, to_receiver());
  receiver.next(receiver.receive_cq);
  EXPECT_EQ(receiver.payload()[kData], std::byte{4});
}

Spec infiniband() {
  Spec spec = own_spec("ib");
  spec.link = LinkLayer::infiniband;
  return spec;
}

struct UverbsUdInfiniband : Datagrams {
  UverbsUdInfiniband() : Datagrams(infiniband()) {}
};

TEST_F(UverbsUdInfiniband, TheLidIsTheAddressAndTheCqeTellsOne) {
  make_all();
  receiver.post_receive(kTo, 256);
  send(5, to({}, other->identity().lid()));
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(received.slid, other->identity().lid()) << "of the sender's NIC none other is known";
  EXPECT_EQ(receiver.payload()[kData + 99], std::byte{5});
}

// A shared receive queue with one WQE posted: a link to the next one, and a data segment.
struct SrqMemory {
  static constexpr std::uint32_t kWqes = 4;

  alignas(64) std::array<std::array<format::Segment, 2>, kWqes> wqes{};
  alignas(64) std::array<std::uint32_t, 2> record{};
};

std::uint32_t make_srq(Client& client, const SrqMemory& memory) {
  mlx5_ib_create_srq driver{};
  driver.buf_addr = address_of(memory.wqes.data());
  driver.db_addr = address_of(memory.record.data());
  std::uint32_t granted = 0;
  Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
  const int error = call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
                        .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, client.pd)
                        .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{77})
                        .in(UVERBS_ATTR_CREATE_SRQ_TYPE, std::uint32_t{IB_UVERBS_SRQT_BASIC})
                        .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, SrqMemory::kWqes - 1)
                        .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
                        .in(UVERBS_ATTR_UHW_IN, driver)
                        .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, granted)
                        .make(*client.context);
  EXPECT_EQ(error, 0);
  return call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
}

// The memory outlives the clients, which are closed first.
struct UverbsUdShared : private SrqMemory, public Datagrams {
  UverbsUdShared() : Datagrams() {}

  SrqMemory& memory() { return *this; }
};

TEST_F(UverbsUdShared, ADatagramTakesAWqeOfTheSharedReceiveQueue) {
  sender.make_all();
  receiver.make_all();
  ASSERT_EQ(receiver.destroy_qp(receiver.qp), 0);
  receiver.qp = receiver.make_qp(make_srq(receiver, memory()));
  sender.connect(receiver);
  receiver.connect(sender);
  memory().wqes[0][1] =
      format::to_segment(format::data(receiver.address(kTo), Be32{receiver.key}, 256));
  __atomic_store_n(memory().record.data(), format::doorbell_record_value(1).raw(),
                   __ATOMIC_RELEASE);
  send(6, to_receiver());
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, format::kGrhBytes + 100);
  EXPECT_EQ(received.wqe_counter, 0u);
  EXPECT_EQ(receiver.payload()[kData + 99], std::byte{6});
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

// XRC as clients ask for it: domains, shared receive queues, initiators and targets.
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/file_descriptor.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::uint32_t kWqes = 16, kWqeBytes = 32, kSrqIndex = 0x77;

struct XrcMemory {
  struct Wqe {
    format::Segment next, data;
  };
  alignas(64) std::array<Wqe, kWqes> wqes{};
  alignas(64) std::uint32_t record = 0;
};

// Opens a domain; an errno value.
int open_domain(Client& client, int file, std::uint32_t flags, std::uint32_t& handle) {
  ib_uverbs_open_xrcd request{};
  request.fd = static_cast<std::uint32_t>(file);
  request.oflags = flags;
  ib_uverbs_open_xrcd_resp answer{};
  const int error = WriteCall(IB_USER_VERBS_CMD_OPEN_XRCD)
                        .core_in(request)
                        .core_out(answer)
                        .make(*client.context);
  handle = answer.xrcd_handle;
  return error;
}

int close_domain(Client& client, std::uint32_t handle) {
  return client.destroy(UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY,
                        UVERBS_ATTR_DESTROY_XRCD_HANDLE, handle);
}

// Receives by XRC: a domain, a shared receive queue of that, and a target.
class Receiver : public Client {
 public:
  explicit Receiver(Device& of) : Client(of) {
    pd = make_pd();
    mr = make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE);
    uar = make_uar();
    make_cq(receive_cq);
    EXPECT_EQ(open_domain(*this, -1, O_CREAT, domain), 0);
  }

  Call srq_call() {
    mlx5_ib_create_srq driver{};
    driver.buf_addr = address_of(memory->wqes.data());
    driver.db_addr = address_of(&memory->record) + record_shift;
    driver.uidx = kSrqIndex;
    Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
    call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
        .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd)
        .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{77})
        .in(UVERBS_ATTR_CREATE_SRQ_TYPE, std::uint32_t{IB_UVERBS_SRQT_XRC})
        .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, kWqes - 1)
        .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
        .in(UVERBS_ATTR_UHW_IN, driver)
        .out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, srqn);
    return call;
  }
  void make_srq() {
    Call call = srq_call();
    call.number(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, domain)
        .number(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, receive_cq.handle);
    ASSERT_EQ(call.make(*context), 0);
    srq = call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
  }
  int destroy_srq() {
    return destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, UVERBS_ATTR_DESTROY_SRQ_HANDLE,
                   srq);
  }

  Call target_call() {
    mlx5_ib_create_qp driver{};
    driver.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
    Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
    call.number(UVERBS_ATTR_CREATE_QP_HANDLE)
        .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, address_of(this))
        .in(UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{})
        .in(UVERBS_ATTR_CREATE_QP_TYPE, std::uint32_t{IB_UVERBS_QPT_XRC_TGT})
        .in(UVERBS_ATTR_UHW_IN, driver)
        .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
    return call;
  }
  void make_target() {
    type = IB_UVERBS_QPT_XRC_TGT;
    Call call = target_call();
    ASSERT_EQ(call.number(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, domain).make(*context), 0);
    qp = call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
  }
  // The first WQE.
  void post_shared(std::size_t at, std::uint32_t size) {
    memory->wqes[0].data = format::to_segment(format::data(address(at), Be32{key}, size));
    __atomic_store_n(&memory->record, std::uint32_t{bit_cast<std::uint32_t>(Be32{1})},
                     __ATOMIC_RELEASE);
  }

  std::unique_ptr<XrcMemory> memory = std::make_unique<XrcMemory>();
  std::uint32_t domain = 0, srq = 0, srqn = 0;
  std::uint32_t record_shift = 0;  // by which the record is misaligned
};

struct UverbsXrc : testing::Test {
  void make_initiator() {
    sender.type = IB_UVERBS_QPT_XRC_INI;
    sender.pd = sender.make_pd();
    sender.mr = sender.make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE);
    sender.uar = sender.make_uar();
    sender.make_cq(sender.send_cq);
    sender.make_cq(sender.receive_cq);
    mlx5_ib_create_qp driver = sender.qp_driver();
    driver.buf_addr = address_of(sender.queues->send.data());
    driver.rq_wqe_count = 0;
    Call call = sender.qp_call(driver);
    call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sender.qpn);
    ASSERT_EQ(call.make(*sender.context), 0);
    sender.qp = call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
  }

  std::unique_ptr<Device> one = open_device(), other = open_device(own_spec(), 1);
  Client sender{*one};
  Receiver receiver{*other};
};

TEST_F(UverbsXrc, AMessageComesToTheSharedReceiveQueue) {
  receiver.make_srq();
  receiver.make_target();
  make_initiator();
  sender.connect(receiver);
  receiver.connect(sender);
  std::memset(sender.payload(), 'x', 100);
  receiver.post_shared(512, 256);
  sender.post_xrc_send(0, 100, receiver.srqn);
  const format::Cqe64 sent = sender.next(sender.send_cq);
  EXPECT_EQ(format::cqe_opcode(sent.op_own), format::CqeOpcode::requester);
  EXPECT_EQ(sent.srqn_uidx, 0x123u);
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), format::CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, 100u);
  EXPECT_EQ(received.srqn_uidx, kSrqIndex);
  EXPECT_EQ(received.sop_drop_qpn, receiver.qpn);
  EXPECT_EQ(receiver.payload()[512 + 99], std::byte{'x'});
  EXPECT_EQ(receiver.payload()[512 + 100], std::byte{0});
}

TEST_F(UverbsXrc, ADomainAndACqStayWhileTheyAreUsed) {
  receiver.make_srq();
  receiver.make_target();
  EXPECT_EQ(close_domain(receiver, receiver.domain), EBUSY);
  EXPECT_EQ(receiver.destroy_cq(receiver.receive_cq.handle), EBUSY);
  EXPECT_EQ(receiver.destroy_srq(), 0);
  EXPECT_EQ(receiver.destroy_cq(receiver.receive_cq.handle), 0);
  EXPECT_EQ(close_domain(receiver, receiver.domain), EBUSY);
  EXPECT_EQ(receiver.destroy_qp(receiver.qp), 0);
  EXPECT_EQ(close_domain(receiver, receiver.domain), 0);
  EXPECT_EQ(close_domain(receiver, receiver.domain), ENOENT);
}

// As libibverbs asks for it.
int open_target(Client& client, std::uint32_t domain, std::uint32_t qpn, std::uint32_t& handle,
                std::uint8_t type = IB_UVERBS_QPT_XRC_TGT) {
  ib_uverbs_open_qp request{};
  request.user_handle = address_of(&client);
  request.pd_handle = domain;
  request.qpn = qpn;
  request.qp_type = type;
  ib_uverbs_create_qp_resp answer{};
  const int error =
      WriteCall(IB_USER_VERBS_CMD_OPEN_QP).core_in(request).core_out(answer).make(*client.context);
  handle = answer.qp_handle;
  if (error == 0) {
    EXPECT_EQ(answer.qpn, qpn);
  }
  return error;
}

TEST_F(UverbsXrc, ATargetIsOpenedByItsNumber) {
  receiver.make_srq();
  receiver.make_target();
  std::uint32_t again = 0;
  ASSERT_EQ(open_target(receiver, receiver.domain, receiver.qpn, again), 0);
  make_initiator();
  sender.connect(receiver);
  // Half of the way by one handle, and half by the other.
  ASSERT_EQ(receiver.modify(receiver.to_init()), 0);
  const std::uint32_t first = std::exchange(receiver.qp, again);
  ASSERT_EQ(receiver.modify(receiver.to_rtr(sender.qpn)), 0);
  EXPECT_EQ(receiver.query().qp_state, 2) << "RTR";
  EXPECT_EQ(receiver.query().dest_qp_num, sender.qpn);
  EXPECT_EQ(receiver.query().dest.is_global, 1);
  EXPECT_EQ(receiver.destroy_qp(first), 0) << "its maker has no use for it";
  std::memset(sender.payload(), 'x', 100);
  receiver.post_shared(512, 256);
  sender.post_xrc_send(0, 100, receiver.srqn);
  EXPECT_EQ(receiver.next(receiver.receive_cq).byte_cnt, 100u);
  EXPECT_EQ(close_domain(receiver, receiver.domain), EBUSY);
  EXPECT_EQ(receiver.destroy_qp(again), 0);
  EXPECT_EQ(open_target(receiver, receiver.domain, receiver.qpn, again), EINVAL) << "it is gone";
}

TEST_F(UverbsXrc, WhatIsNoTargetOfTheDomainIsNotOpened) {
  receiver.make_target();
  std::uint32_t another = 0, handle = 0;
  ASSERT_EQ(open_domain(receiver, -1, O_CREAT, another), 0);
  EXPECT_EQ(open_target(receiver, another, receiver.qpn, handle), EINVAL);
  EXPECT_EQ(open_target(receiver, receiver.pd, receiver.qpn, handle), EINVAL);
  EXPECT_EQ(open_target(receiver, receiver.domain, receiver.qpn + 1, handle), EINVAL);
  EXPECT_EQ(open_target(receiver, receiver.domain, receiver.qpn, handle, IB_UVERBS_QPT_RC), EINVAL);
  EXPECT_EQ(open_target(receiver, receiver.domain, sender.qpn, handle), EINVAL);
}

TEST_F(UverbsXrc, ATargetOutlivesTheClientThatMadeIt) {
  const UniqueFileDescriptor file(::memfd_create("domain", MFD_CLOEXEC));
  auto maker = std::make_unique<Receiver>(*other);
  ASSERT_EQ(open_domain(*maker, file.get(), O_CREAT, maker->domain), 0);
  maker->make_target();
  std::uint32_t domain = 0, handle = 0;
  ASSERT_EQ(open_domain(receiver, file.get(), 0, domain), 0);
  ASSERT_EQ(open_target(receiver, domain, maker->qpn, handle), 0);
  maker.reset();
  receiver.qp = handle;
  receiver.type = IB_UVERBS_QPT_XRC_TGT;
  EXPECT_EQ(receiver.modify(receiver.to_init()), 0);
  EXPECT_EQ(receiver.destroy_qp(handle), 0);
  EXPECT_EQ(close_domain(receiver, domain), 0);
}

TEST_F(UverbsXrc, ASharedReceiveQueueNeedsDomainAndCq) {
  EXPECT_EQ(receiver.srq_call().make(*receiver.context), EINVAL);
  EXPECT_EQ(receiver.srq_call()
                .number(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, receiver.domain)
                .make(*receiver.context),
            EINVAL);
  EXPECT_EQ(receiver.srq_call()
                .number(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, receiver.pd)
                .number(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, receiver.receive_cq.handle)
                .make(*receiver.context),
            ENOENT);
}

// Its mailbox has no room for the two lowest bits.
TEST_F(UverbsXrc, ASharedReceiveQueuesRecordIsAligned) {
  receiver.record_shift = 2;
  EXPECT_EQ(receiver.srq_call()
                .number(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, receiver.domain)
                .number(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, receiver.receive_cq.handle)
                .make(*receiver.context),
            EINVAL);
}

TEST_F(UverbsXrc, ATargetHasADomainAndNothingElse) {
  EXPECT_EQ(receiver.target_call().make(*receiver.context), EINVAL);
  EXPECT_EQ(receiver.target_call()
                .number(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, receiver.pd)
                .make(*receiver.context),
            ENOENT);
  EXPECT_EQ(receiver.target_call()
                .number(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, receiver.domain)
                .number(UVERBS_ATTR_CREATE_QP_PD_HANDLE, receiver.pd)
                .make(*receiver.context),
            EINVAL);
}

struct UverbsXrcFile : testing::Test {
  static UniqueFileDescriptor make_file() {
    return UniqueFileDescriptor(::memfd_create("domain", MFD_CLOEXEC));
  }
  // The domains that the NIC has are numbered: whether two handles are of one.
  static XrcdNumber number_of(const Client& client, std::uint32_t handle) {
    return client.context->handles().find<Xrcd>(handle)->number;
  }

  std::unique_ptr<Device> device = open_device();
  Client first{*device}, second{*device};
  UniqueFileDescriptor file = make_file(), another = make_file();
  UniqueFileDescriptor same_file{::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)};
  std::uint32_t a = 0, b = 0;
};

TEST_F(UverbsXrcFile, OpenDevicesShareTheDomainOfAFile) {
  ASSERT_EQ(open_domain(first, file.get(), O_CREAT, a), 0);
  ASSERT_EQ(open_domain(second, same_file.get(), 0, b), 0);
  EXPECT_EQ(number_of(first, a), number_of(second, b));
  std::uint32_t c = 0, d = 0;
  ASSERT_EQ(open_domain(second, another.get(), O_CREAT, c), 0);
  ASSERT_EQ(open_domain(second, -1, 0, d), 0);
  EXPECT_NE(number_of(first, a), number_of(second, c));
  EXPECT_NE(number_of(first, a), number_of(second, d));
  EXPECT_EQ(close_domain(first, a), 0);
  EXPECT_EQ(open_domain(first, file.get(), 0, a), 0) << "the second one still has it";
  EXPECT_EQ(close_domain(first, a), 0);
  EXPECT_EQ(close_domain(second, b), 0);
  EXPECT_EQ(open_domain(first, file.get(), 0, a), EAGAIN) << "nobody has it any more";
}

TEST_F(UverbsXrcFile, IsMadeOnlyByWhoWantsIt) {
  EXPECT_EQ(open_domain(first, file.get(), 0, a), EAGAIN);
  EXPECT_EQ(open_domain(first, file.get(), O_CREAT | O_EXCL, a), 0);
  EXPECT_EQ(open_domain(second, file.get(), O_CREAT | O_EXCL, b), EINVAL);
  EXPECT_EQ(open_domain(second, file.get(), O_CREAT, b), 0);
  EXPECT_EQ(open_domain(second, 9999, O_CREAT, b), EBADF);
}

TEST_F(UverbsXrcFile, OutlivesTheClientsDescriptor) {
  ASSERT_EQ(open_domain(first, file.get(), O_CREAT, a), 0);
  file.reset();
  ASSERT_EQ(open_domain(second, same_file.get(), 0, b), 0);
  EXPECT_EQ(number_of(first, a), number_of(second, b));
}

TEST_F(UverbsXrcFile, EndsWithTheLastClientThatHasIt) {
  {
    Client third{*device};
    ASSERT_EQ(open_domain(third, file.get(), O_CREAT, a), 0);
    ASSERT_EQ(open_domain(second, file.get(), 0, b), 0);
  }
  EXPECT_EQ(open_domain(first, file.get(), 0, a), 0);
  EXPECT_EQ(close_domain(first, a), 0);
  EXPECT_EQ(close_domain(second, b), 0);
  EXPECT_EQ(open_domain(first, file.get(), 0, a), EAGAIN);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

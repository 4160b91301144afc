// Ends of DC, as libmlx5 makes them by queue pairs of its own type, and as clients do by firmware
// commands.
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <poll.h>
#include <rdma/mlx5-abi.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/transition_masks.h"
#include "core/format/prm/dct.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;

constexpr std::uint64_t kDcKey = 0x1122334455667788;
constexpr std::uint32_t kUserIndex = 0x345, kLogWqes = 3;
constexpr std::uint16_t kDrained = 0x1c, kKeyViolation = 0x1d;

struct DcMemory {
  struct Wqe {
    format::Segment next, data;
  };
  alignas(64) std::array<Wqe, 1u << kLogWqes> wqes{};
  alignas(64) std::uint32_t record = 0;
};

// Has a target, with a shared receive queue.
class Receiver : public DevxClient {
 public:
  explicit Receiver(Device& of) : DevxClient(of) {
    pd = make_pd();
    mr = make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE);
    uar = make_uar();
    make_cq(receive_cq);
    make_srq();
  }

  void make_srq() {
    mlx5_ib_create_srq driver{};
    driver.buf_addr = address_of(memory->wqes.data());
    driver.db_addr = address_of(&memory->record);
    Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
    call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
        .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd)
        .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{77})
        .in(UVERBS_ATTR_CREATE_SRQ_TYPE, std::uint32_t{IB_UVERBS_SRQT_BASIC})
        .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, (1u << kLogWqes) - 1)
        .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
        .in(UVERBS_ATTR_UHW_IN, driver)
        .out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, srqn);
    ASSERT_EQ(call.make(*context), 0);
    srq = call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
  }
  Call target_call(std::uint32_t flags = MLX5_QP_FLAG_TYPE_DCT) {
    mlx5_ib_create_qp driver{};
    driver.flags = flags;
    driver.uidx = kUserIndex;
    driver.access_key = kDcKey;
    Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
    call.number(UVERBS_ATTR_CREATE_QP_HANDLE)
        .number(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
        .number(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, receive_cq.handle)
        .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, address_of(this))
        .in(UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{})
        .in(UVERBS_ATTR_CREATE_QP_TYPE, std::uint32_t{IB_UVERBS_QPT_DRIVER})
        .in(UVERBS_ATTR_UHW_IN, driver)
        .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
    return call;
  }
  void make_target() {
    Call call = target_call();
    ASSERT_EQ(call.number(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq).make(*context), 0);
    qp = call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
    EXPECT_EQ(qpn, 0u) << "it gets its number later";
  }
  ib_uverbs_modify_qp target_to_rtr() const {
    ib_uverbs_modify_qp request = to_state(2);
    request.attr_mask |= attr::kPath | attr::kPathMtu | attr::kMinRnrTimer;
    request.path_mtu = 3;
    request.min_rnr_timer = 12;
    request.dest.port_num = 1;
    request.dest.is_global = 1;
    request.dest.sgid_index = gid_index;
    return request;
  }
  // The answer's number of the target.
  int modify_target(const ib_uverbs_modify_qp& base, std::uint32_t& dctn) {
    ib_uverbs_ex_modify_qp request{};
    request.base = base;
    ib_uverbs_ex_modify_qp_resp answer{};
    mlx5_ib_modify_qp_resp driver{};
    WriteCall call(kExtendedCommand | IB_USER_VERBS_CMD_MODIFY_QP);
    call.core_in(request).core_out(answer);
    call.out(UVERBS_ATTR_UHW_OUT, driver);
    const int error = call.make(*context);
    dctn = driver.dctn;
    return error;
  }
  void bring_up() {
    make_target();
    ASSERT_EQ(modify(to_init()), 0);
    ASSERT_EQ(modify_target(target_to_rtr(), qpn), 0);
    ASSERT_NE(qpn, 0u);
  }
  prm::Mailbox<prm::CreateDctIn> dct_request() {
    prm::Mailbox<prm::CreateDctIn> in;
    const auto to = in.at(prm::CreateDctIn::dct_context_entry);
    to.set(prm::Dctc::pd, pd_number());
    to.set(prm::Dctc::cqn, receive_cq.number);
    to.set(prm::Dctc::srqn_xrqn, srqn);
    to.set(prm::Dctc::user_index, kUserIndex);
    to.set(prm::Dctc::dc_access_key, kDcKey);
    to.set(prm::Dctc::rwe, 1);
    to.set(prm::Dctc::mtu, 3);
    return in;
  }
  // The first WQE.
  void post_shared(std::size_t at, std::uint32_t size) {
    memory->wqes[0].data = format::to_segment(format::data(address(at), Be32{key}, size));
    __atomic_store_n(&memory->record, std::uint32_t{bit_cast<std::uint32_t>(Be32{1})},
                     __ATOMIC_RELEASE);
  }

  std::unique_ptr<DcMemory> memory = std::make_unique<DcMemory>();
  std::uint32_t srq = 0, srqn = 0;
};

struct UverbsDc : testing::Test {
  void make_initiator() {
    sender.type = IB_UVERBS_QPT_DRIVER;
    sender.pd = sender.make_pd();
    sender.mr = sender.make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE);
    sender.uar = sender.make_uar();
    sender.make_cq(sender.send_cq);
    sender.make_cq(sender.receive_cq);
    mlx5_ib_create_qp driver = sender.qp_driver();
    driver.flags |= MLX5_QP_FLAG_TYPE_DCI;
    driver.buf_addr = address_of(sender.queues->send.data());
    driver.rq_wqe_count = 0;
    Call call = sender.qp_call(driver);
    call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, sender.qpn);
    ASSERT_EQ(call.make(*sender.context), 0);
    sender.qp = call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
    ib_uverbs_modify_qp request = sender.to_state(1);
    request.attr_mask |= attr::kPkeyIndex | attr::kPort;
    request.port_num = 1;
    ASSERT_EQ(sender.modify(request), 0);
    request = sender.to_state(2);
    request.attr_mask |= attr::kPathMtu;
    request.path_mtu = 3;
    ASSERT_EQ(sender.modify(request), 0);
    request = sender.to_state(3);
    request.attr_mask |=
        attr::kTimeout | attr::kRetryCount | attr::kRnrRetry | attr::kMaxReads | attr::kSendPsn;
    request.timeout = 10;
    request.retry_cnt = 2;
    request.rnr_retry = 7;
    request.max_rd_atomic = 1;
    ASSERT_EQ(sender.modify(request), 0);
  }
  // A SEND to the receiver's target.
  void send(std::uint32_t dctn, std::uint32_t size, std::uint64_t key = kDcKey) {
    format::AvSegment av{};
    const Gid gid = other->identity().gid(receiver.gid_index);
    std::memcpy(av.rgid, gid.data(), gid.size());
    sender.post_to_target(0, size, av, dctn, key);
  }
  int open_events(std::uint32_t object, const std::vector<std::uint16_t>& events) {
    Call open(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
    EXPECT_EQ(open.number(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)
                  .in(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, std::uint32_t{0})
                  .make(*receiver.context),
              0);
    const auto file = open.given(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE);
    EXPECT_EQ(Call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT)
                  .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, file)
                  .in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, std::uint64_t{5})
                  .in_bytes(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, events.data(),
                            events.size() * sizeof events[0])
                  .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, object)
                  .make(*receiver.context),
              0);
    return static_cast<int>(file);
  }
  // The event that comes, of the target.
  static void expect_event(int file, std::uint16_t kind, std::uint32_t dctn) {
    pollfd waiting{file, POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, 10'000), 1) << "nobody tells";
    std::array<std::uint8_t, 4096> record{};
    ASSERT_GT(::read(file, record.data(), record.size()), 0);
    EXPECT_EQ(record[8 + 1], kind);
    EXPECT_EQ(record[8 + 57] << 16 | record[8 + 58] << 8 | record[8 + 59], static_cast<int>(dctn));
  }

  std::unique_ptr<Device> one = open_device(), other = open_device(own_spec(), 1);
  Client sender{*one};
  Receiver receiver{*other};
};

TEST_F(UverbsDc, AMessageReachesATargetOfVerbs) {
  receiver.bring_up();
  make_initiator();
  receiver.post_shared(512, 256);
  std::memset(sender.payload(), 'x', 100);
  send(receiver.qpn, 100);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), format::CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, 100u);
  EXPECT_EQ(received.srqn_uidx, kUserIndex);
  EXPECT_EQ(received.sop_drop_qpn & 0xffffff, receiver.qpn);
  EXPECT_EQ(received.flags_rqpn & 0xffffff, sender.qpn);
  EXPECT_EQ(receiver.payload()[512 + 99], std::byte{'x'});
}

TEST_F(UverbsDc, ATargetOfAFirmwareCommandIsTheSame) {
  const DevxMade dct = receiver.create(Opcode::create_dct, receiver.dct_request());
  ASSERT_EQ(dct.error, 0);
  const int events = open_events(dct.handle, {kDrained, kKeyViolation});
  make_initiator();
  receiver.post_shared(512, 256);
  send(dct.number, 100);
  EXPECT_EQ(receiver.next(receiver.receive_cq).byte_cnt, 100u);
  EXPECT_EQ(receiver.modify(dct.handle, Opcode::arm_dct_for_key_violation,
                            DevxClient::question(Opcode::arm_dct_for_key_violation, dct.number)),
            0);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
  send(dct.number, 100, kDcKey + 1);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own),
            format::CqeOpcode::requester_error);
  expect_event(events, kKeyViolation, dct.number);
  prm::Mailbox<prm::QueryDctOut> answer;
  ASSERT_EQ(receiver.query(dct.handle, Opcode::query_dct, dct.number, answer), 0);
  const auto told = answer.at(prm::QueryDctOut::dct_context_entry);
  EXPECT_EQ(told.get(prm::Dctc::dc_access_key_violation_count), 1u);
  EXPECT_EQ(told.get(prm::Dctc::state), 0u);
  EXPECT_EQ(told.get(prm::Dctc::dc_access_key), kDcKey);
  EXPECT_EQ(receiver.modify(dct.handle, Opcode::drain_dct,
                            DevxClient::question(Opcode::drain_dct, dct.number)),
            0);
  expect_event(events, kDrained, dct.number);
  ASSERT_EQ(receiver.query(dct.handle, Opcode::query_dct, dct.number, answer), 0);
  EXPECT_EQ(answer.at(prm::QueryDctOut::dct_context_entry).get(prm::Dctc::state), 2u);
  EXPECT_EQ(receiver.destroy_devx(dct.handle), 0);
  ::close(events);
}

TEST_F(UverbsDc, ATargetUsesItsObjectsOnceItIsThere) {
  receiver.bring_up();
  EXPECT_EQ(receiver.destroy_cq(receiver.receive_cq.handle), EBUSY);
  EXPECT_EQ(receiver.destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY,
                             UVERBS_ATTR_DESTROY_SRQ_HANDLE, receiver.srq),
            EBUSY);
  ib_uverbs_query_qp question{};
  question.qp_handle = receiver.qp;
  question.attr_mask = attr::kState | attr::kPathMtu;
  ib_uverbs_query_qp_resp answer{};
  const auto ask = [&] {
    WriteCall call(IB_USER_VERBS_CMD_QUERY_QP);
    return call.core_in(question).core_out(answer).make(*receiver.context);
  };
  EXPECT_EQ(ask(), 0);
  EXPECT_EQ(answer.qp_state, 2);
  EXPECT_EQ(answer.path_mtu, 3);
  question.attr_mask |= attr::kRemoteQpn;
  EXPECT_EQ(ask(), EINVAL) << "it has no peer";
  EXPECT_EQ(receiver.destroy_qp(receiver.qp), 0);
  EXPECT_EQ(receiver.destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY,
                             UVERBS_ATTR_DESTROY_SRQ_HANDLE, receiver.srq),
            0);
}

TEST_F(UverbsDc, ATargetThatNeverCameUpGoes) {
  receiver.make_target();
  EXPECT_EQ(receiver.destroy_qp(receiver.qp), 0);
}

TEST_F(UverbsDc, ATargetsWayIsFromResetToRtr) {
  receiver.make_target();
  std::uint32_t dctn = 0;
  EXPECT_EQ(receiver.modify_target(receiver.target_to_rtr(), dctn), EINVAL);
  ASSERT_EQ(receiver.modify(receiver.to_init()), 0);
  EXPECT_EQ(receiver.modify(receiver.to_init()), EINVAL);
  ib_uverbs_modify_qp more = receiver.target_to_rtr();
  more.attr_mask |= attr::kRemoteQpn;
  EXPECT_EQ(receiver.modify_target(more, dctn), EINVAL);
  ib_uverbs_modify_qp wrong_mtu = receiver.target_to_rtr();
  wrong_mtu.path_mtu = 6;
  EXPECT_EQ(receiver.modify_target(wrong_mtu, dctn), EINVAL);
  EXPECT_EQ(dctn, 0u);
  EXPECT_EQ(receiver.modify_target(receiver.target_to_rtr(), dctn), 0);
  EXPECT_NE(dctn, 0u);
  EXPECT_EQ(receiver.modify(receiver.to_state(3)), EINVAL);
}

TEST_F(UverbsDc, OfTheDriversTypesThereAreTwo) {
  for (const std::uint32_t flags :
       {0u, std::uint32_t{MLX5_QP_FLAG_TYPE_DCI} | MLX5_QP_FLAG_TYPE_DCT}) {
    Call call = receiver.target_call(flags);
    EXPECT_EQ(call.number(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, receiver.srq).make(*receiver.context),
              EOPNOTSUPP);
  }
  EXPECT_EQ(receiver.target_call().make(*receiver.context), EINVAL) << "without an SRQ";
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

// Each event of a queue that a client reads of its file of errors: when it comes, of what, and
// once.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/transition_masks.h"
#include "core/format/srq.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr int kPatienceMs = 60'000;

// enum ibv_event_type.
constexpr std::uint32_t kCqError = 0, kQpFatal = 1, kInvalidRequest = 2, kAccessError = 3,
                        kEstablished = 4, kDrained = 5, kSrqLimit = 15, kLastWqe = 16;

struct Told {
  std::uint64_t element = 0;
  std::uint32_t type = 0;
  friend bool operator==(const Told&, const Told&) = default;
};

// As libibverbs opens it: before any queue.
class ErrorFile {
 public:
  explicit ErrorFile(Context& context) {
    Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
    call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
    if (call.make(context) != 0) throw std::runtime_error("ASYNC_EVENT_ALLOC");
    file_.reset(static_cast<int>(call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
  }
  // The next one.
  std::optional<Told> next(int patience_ms = kPatienceMs) {
    pollfd one{file_.get(), POLLIN, 0};
    ib_uverbs_async_event_desc event{};
    if (::poll(&one, 1, patience_ms) != 1) return std::nullopt;
    if (::read(file_.get(), &event, sizeof event) != ssize_t{sizeof event}) return std::nullopt;
    return Told{event.element, event.event_type};
  }
  bool is_empty() { return !next(0); }

 private:
  UniqueFileDescriptor file_;
};

struct SrqMemory {
  struct alignas(32) Wqe {
    format::SrqNextSegment next{};
    format::Segment data{};
  };
  alignas(64) std::array<Wqe, kQueue> wqes{};
  alignas(64) std::uint32_t record = 0;
};

// `watched` has the file; `peer` sends to it.
struct UverbsAsyncEvents : testing::Test {
  void make() {
    watched.make_all();
    peer.make_all();
  }
  void connect() {
    watched.connect(peer);
    peer.connect(watched);
  }
  Told of_qp(std::uint32_t type) const { return {address_of(&watched), type}; }
  Told of_cq(const ClientCq& cq, std::uint32_t type) const { return {address_of(&cq), type}; }

  std::unique_ptr<SrqMemory> srq_memory = std::make_unique<SrqMemory>();
  std::unique_ptr<Device> one = open_device(), other = open_device();
  Client watched{*one}, peer{*other};
  ErrorFile errors{*watched.context};
};

TEST_F(UverbsAsyncEvents, AnOverrunQueueAndThenItsUsersFail) {
  make();
  connect();
  for (std::uint32_t i = 0; i < kQueue; ++i) {
    watched.post_write(0, 8, peer.address(0), peer.key);
  }
  const auto* const last =
      reinterpret_cast<const std::uint64_t*>(&watched.send_cq.memory->entries[kQueue - 1]);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (format::CqeTail{__atomic_load_n(&last[7], __ATOMIC_ACQUIRE)}.opcode() ==
         format::CqeOpcode::invalid) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::yield();
  }
  EXPECT_TRUE(errors.is_empty());
  watched.post_write(0, 8, peer.address(0), peer.key);
  EXPECT_EQ(errors.next(), of_cq(watched.send_cq, kCqError));
  EXPECT_EQ(errors.next(), of_qp(kQpFatal));
  EXPECT_EQ(watched.query().qp_state, 6);
  EXPECT_TRUE(errors.is_empty());
}

TEST_F(UverbsAsyncEvents, AWrongKeyIsAnAccessError) {
  make();
  connect();
  peer.post_write(0, 8, watched.address(0), watched.key ^ 0x100);
  EXPECT_EQ(errors.next(), of_qp(kAccessError));
}

TEST_F(UverbsAsyncEvents, WhatTheQueuePairDoesNotDoIsAnInvalidRequest) {
  make();
  ib_uverbs_modify_qp init = watched.to_init();
  init.qp_access_flags = 0;
  ASSERT_EQ(watched.modify(init), 0);
  ASSERT_EQ(watched.modify(watched.to_rtr(peer.qpn)), 0);
  ASSERT_EQ(watched.modify(watched.to_rts()), 0);
  peer.connect(watched);
  peer.post_write(0, 8, watched.address(0), watched.key);
  EXPECT_EQ(errors.next(), of_qp(kInvalidRequest));
}

TEST_F(UverbsAsyncEvents, TheFirstPacketBeforeRtsEstablishesTheConnection) {
  make();
  ASSERT_EQ(watched.modify(watched.to_init()), 0);
  ASSERT_EQ(watched.modify(watched.to_rtr(peer.qpn)), 0);
  peer.connect(watched);
  for (int i = 0; i < 2; ++i) {
    peer.post_write(0, 8, watched.address(0), watched.key);
    peer.next(peer.send_cq);
  }
  EXPECT_EQ(errors.next(), of_qp(kEstablished));
  EXPECT_TRUE(errors.is_empty());
}

TEST_F(UverbsAsyncEvents, ADrainedSendQueueIsToldOf) {
  make();
  connect();
  ib_uverbs_modify_qp drain = watched.to_state(4);
  drain.attr_mask |= attr::kSqdNotify;
  drain.en_sqd_async_notify = 1;
  ASSERT_EQ(watched.modify(drain), 0);
  EXPECT_EQ(errors.next(), of_qp(kDrained));
  EXPECT_EQ(watched.query().sq_draining, 0);
}

// A shared receive queue of three WQEs.
struct UverbsSrqEvents : UverbsAsyncEvents {
  void SetUp() override {
    make();
    mlx5_ib_create_srq driver{};
    driver.buf_addr = address_of(srq_memory->wqes.data());
    driver.db_addr = address_of(&srq_memory->record);
    for (std::uint32_t i = 0; i < kQueue; ++i) {
      srq_memory->wqes[i].next.next_wqe_index = Be16{static_cast<std::uint16_t>((i + 1) % kQueue)};
      srq_memory->wqes[i].data =
          format::to_segment(format::data(watched.address(0), Be32{watched.key}, 64));
    }
    Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
    ASSERT_EQ(call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
                  .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, watched.pd)
                  .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, kSrqElement)
                  .in(UVERBS_ATTR_CREATE_SRQ_TYPE, std::uint32_t{IB_UVERBS_SRQT_BASIC})
                  .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, kQueue - 1)
                  .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
                  .in(UVERBS_ATTR_UHW_IN, driver)
                  .make(*watched.context),
              0);
    srq = call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
    ASSERT_EQ(watched.destroy_qp(watched.qp), 0);
    watched.qp = watched.make_qp(srq);
    __atomic_store_n(&srq_memory->record, Be32{3}.raw(), __ATOMIC_RELEASE);
    connect();
  }

  static constexpr std::uint64_t kSrqElement = 0x5195;
  std::uint32_t srq = 0;
};

TEST_F(UverbsSrqEvents, ALimitIsToldOfOnce) {
  ib_uverbs_modify_srq limit{};
  limit.srq_handle = srq;
  limit.attr_mask = 2;
  limit.srq_limit = 2;
  ASSERT_EQ(WriteCall(IB_USER_VERBS_CMD_MODIFY_SRQ).core_in(limit).make(*watched.context), 0);
  for (int i = 0; i < 3; ++i) {
    peer.post_send(0, 8);
    watched.next(watched.receive_cq);
  }
  EXPECT_EQ(errors.next(), (Told{kSrqElement, kSrqLimit}));
  EXPECT_TRUE(errors.is_empty());
}

TEST_F(UverbsSrqEvents, AQueuePairThatFailsTakesNoMoreOfIt) {
  ASSERT_EQ(watched.modify(watched.to_state(6)), 0);
  EXPECT_EQ(errors.next(), of_qp(kLastWqe));
  EXPECT_TRUE(errors.is_empty());
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

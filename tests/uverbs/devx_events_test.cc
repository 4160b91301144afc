// Events that clients subscribe to by firmware commands, and answers that they read from a file.
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;

constexpr std::uint16_t kCompletion = 0x00, kPortChange = 0x09, kLastWqe = 0x13, kSrqLimit = 0x14;

// What a read gives, which is asked for more than one record.
std::vector<std::uint8_t> read_record(int file) {
  pollfd waiting{file, POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1) << "nobody tells";
  std::vector<std::uint8_t> record(4096);
  const ssize_t size = ::read(file, record.data(), record.size());
  record.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return record;
}
bool has_record(int file) {
  pollfd waiting{file, POLLIN, 0};
  return ::poll(&waiting, 1, 100) == 1;
}
std::uint64_t cookie_of(const std::vector<std::uint8_t>& record) {
  std::uint64_t cookie = 0;
  if (record.size() >= sizeof cookie) std::memcpy(&cookie, record.data(), sizeof cookie);
  return cookie;
}

struct UverbsDevxEvents : testing::Test {
  UverbsDevxEvents() {
    client.make_all();
    EXPECT_EQ(client.destroy_qp(client.qp), 0);
    umem = client.make_umem(memory.data(), sizeof memory);
    rmp = client.create(Opcode::create_rmp, rmp_request());
    EXPECT_EQ(rmp.error, 0);
    auto in = client.qp_request(umem.number);
    const auto to = in.at(prm::CreateQpIn::qpc);
    to.set(prm::Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::shared));
    to.set(prm::Qpc::srqn_rmpn_xrqn, rmp.number);
    to.set(prm::Qpc::dbr_addr, 8);
    in.set(prm::CreateQpIn::wq_umem_offset, 1024);
    qp = client.create(Opcode::create_qp, in);
    EXPECT_EQ(qp.error, 0);
  }
  prm::Mailbox<prm::CreateRmpIn> rmp_request() {
    prm::Mailbox<prm::CreateRmpIn> in;
    const auto wq = in.at(prm::CreateRmpIn::rmp_context).at(prm::Rmpc::wq);
    wq.set(prm::Wq::wq_type, static_cast<std::uint64_t>(prm::WqType::cyclic));
    wq.set(prm::Wq::pd, client.pd_number());
    wq.set(prm::Wq::log_wq_sz, 2);
    wq.set(prm::Wq::log_wq_stride, 5);
    wq.set(prm::Wq::dbr_umem_id, umem.number);
    wq.set(prm::Wq::wq_umem_id, umem.number);
    wq.set(prm::Wq::wq_umem_offset, 512);
    return in;
  }
  int open_events(std::uint32_t flags) {
    Call call(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
    EXPECT_EQ(call.number(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)
                  .in(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, flags)
                  .make(*client.context),
              0);
    return static_cast<int>(call.given(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE));
  }
  static Call subscription(int file, std::vector<std::uint16_t> events, std::uint64_t cookie) {
    Call call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
    call.number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, static_cast<std::uint32_t>(file))
        .in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie)
        .in_bytes(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, events.data(),
                  events.size() * sizeof events[0]);
    return call;
  }
  int subscribe(int file, std::uint32_t object, std::vector<std::uint16_t> events,
                std::uint64_t cookie) {
    return subscription(file, std::move(events), cookie)
        .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, object)
        .make(*client.context);
  }
  static void subscription_of_port(DevxClient& of, int counter) {
    const std::uint16_t event = kPortChange;
    Call open(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
    ASSERT_EQ(open.number(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)
                  .in(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, std::uint32_t{0})
                  .make(*of.context),
              0);
    const UniqueFileDescriptor file(
        static_cast<int>(open.given(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)));
    ASSERT_EQ(Call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT)
                  .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
                          static_cast<std::uint32_t>(file.get()))
                  .in_bytes(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, &event, sizeof event)
                  .in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, static_cast<std::uint32_t>(counter))
                  .make(*of.context),
              0);
  }
  void break_qp() {
    auto init = client.request(qp.number);
    ASSERT_EQ(client.modify(qp.handle, Opcode::rst2init_qp, init), 0);
    ASSERT_EQ(
        client.modify(qp.handle, Opcode::qp_2err, DevxClient::question(Opcode::qp_2err, qp.number)),
        0);
  }

  alignas(64) std::array<std::byte, 4096> memory{};
  std::unique_ptr<Device> device = open_device(own_spec("devx-events"));
  DevxClient client{*device};
  DevxClient::Umem umem;
  DevxMade rmp, qp;
};

TEST_F(UverbsDevxEvents, ToldByCookieOneAtATime) {
  const UniqueFileDescriptor file(open_events(MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA));
  ASSERT_EQ(subscribe(file.get(), qp.handle, {kLastWqe}, 11), 0);
  ASSERT_EQ(subscribe(file.get(), qp.handle, {kLastWqe}, 22), 0);
  break_qp();
  for (const std::uint64_t cookie : {11, 22}) {
    const auto record = read_record(file.get());
    EXPECT_EQ(record.size(), kCookieBytes);
    EXPECT_EQ(cookie_of(record), cookie);
  }
}

TEST_F(UverbsDevxEvents, WithDataTheEntryOfTheEventQueueFollows) {
  const UniqueFileDescriptor file(open_events(0));
  ASSERT_EQ(subscribe(file.get(), qp.handle, {kLastWqe}, 5), 0);
  break_qp();
  const auto record = read_record(file.get());
  ASSERT_EQ(record.size(), kCookieBytes + kEventQueueEntryBytes);
  EXPECT_EQ(cookie_of(record), 5u);
  EXPECT_EQ(record[kCookieBytes + 1], kLastWqe);
  const std::uint8_t* const number = record.data() + kCookieBytes + 0x38;
  EXPECT_EQ((number[1] << 16 | number[2] << 8 | number[3]), static_cast<int>(qp.number));
}

TEST_F(UverbsDevxEvents, OfOtherKindsOrObjectsNobodyIsTold) {
  const UniqueFileDescriptor file(open_events(0));
  ASSERT_EQ(subscribe(file.get(), qp.handle, {0x10, 0x11}, 1), 0);
  ASSERT_EQ(subscribe(file.get(), client.send_cq.handle, {kCompletion}, 2), 0);
  break_qp();
  EXPECT_FALSE(has_record(file.get()));
}

struct UverbsDevxCounters : UverbsDevxEvents {
  int count_by(int counter) {
    const std::uint16_t event = kLastWqe;
    return Call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT)
        .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, static_cast<std::uint32_t>(file.get()))
        .in_bytes(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, &event, sizeof event)
        .number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, qp.handle)
        .in(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM, static_cast<std::uint32_t>(counter))
        .make(*client.context);
  }
  static std::size_t open_files() {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  const UniqueFileDescriptor file{open_events(0)};
};

TEST_F(UverbsDevxCounters, AreToldInsteadOfTheFile) {
  const UniqueFileDescriptor counter(::eventfd(0, EFD_CLOEXEC));
  ASSERT_EQ(count_by(counter.get()), 0);
  break_qp();
  EXPECT_EQ(cookie_of(read_record(counter.get())), 1u);
  EXPECT_FALSE(has_record(file.get()));
}

TEST_F(UverbsDevxCounters, ThatAreFullHoldNobodyUp) {
  const UniqueFileDescriptor counter(::eventfd(0, EFD_CLOEXEC));
  const std::uint64_t full = ~std::uint64_t{1};
  ASSERT_EQ(::write(counter.get(), &full, sizeof full), 8);
  ASSERT_EQ(count_by(counter.get()), 0);
  break_qp();
  EXPECT_EQ(client.destroy_devx(qp.handle), 0);
}

TEST_F(UverbsDevxCounters, AreEventfdsAndNothingElse) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFileDescriptor read(ends[0]), write(ends[1]);
  for (const int other : {write.get(), file.get(), -1, 1 << 20}) {
    EXPECT_EQ(count_by(other), EINVAL) << other;
  }
}

TEST_F(UverbsDevxCounters, GoWithTheFileTheirSubscriptionWasBy) {
  const UniqueFileDescriptor counter(::eventfd(0, EFD_CLOEXEC));
  const std::size_t before = open_files();
  for (int i = 0; i < 20; ++i) {
    DevxClient other(*device);
    UverbsDevxEvents::subscription_of_port(other, counter.get());
  }
  EXPECT_EQ(open_files(), before);
  device->set_port(false);
  pollfd waiting{counter.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0) << "clients that are gone";
}

TEST_F(UverbsDevxEvents, WithoutDataOneOfASubscriptionIsUnread) {
  const UniqueFileDescriptor file(open_events(MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA));
  ASSERT_EQ(subscription(file.get(), {kPortChange}, 7).make(*client.context), 0);
  ASSERT_EQ(subscribe(file.get(), qp.handle, {kLastWqe}, 8), 0);
  for (int lap = 0; lap < 3; ++lap) {
    for (int i = 0; i < 4; ++i) device->set_port(i % 2 != 0);
    if (lap == 1) break_qp();
    EXPECT_EQ(cookie_of(read_record(file.get())), 7u);
    if (lap == 1) {
      EXPECT_EQ(cookie_of(read_record(file.get())), 8u);
      device->set_port(false);
      device->set_port(true);
      EXPECT_EQ(cookie_of(read_record(file.get())), 7u) << "told again, as it was read";
    }
    EXPECT_FALSE(has_record(file.get()));
  }
}

TEST_F(UverbsDevxEvents, ManyMayBeUnread) {
  const UniqueFileDescriptor file(open_events(0));
  ASSERT_EQ(subscription(file.get(), {kPortChange}, 7).make(*client.context), 0);
  for (int i = 0; i < 100; ++i) device->set_port(i % 2 != 0);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(cookie_of(read_record(file.get())), 7u) << i;
}

TEST_F(UverbsDevxEvents, ThePortIsOfNoObject) {
  const UniqueFileDescriptor file(open_events(0));
  ASSERT_EQ(subscription(file.get(), {kPortChange}, 9).make(*client.context), 0);
  device->set_port(false);
  const auto record = read_record(file.get());
  ASSERT_EQ(record.size(), kCookieBytes + kEventQueueEntryBytes);
  EXPECT_EQ(record[kCookieBytes + 1], kPortChange);
  EXPECT_EQ(record[kCookieBytes + 3], 1) << "down";
  EXPECT_EQ(record[kCookieBytes + 0x28], 1 << 4) << "port 1";
}

TEST_F(UverbsDevxEvents, APoolBelowItsLimitIsToldOf) {
  const UniqueFileDescriptor file(open_events(0));
  ASSERT_EQ(subscribe(file.get(), rmp.handle, {kSrqLimit}, 3), 0);
  prm::Mailbox<prm::ModifyRmpIn> in;
  in.set(prm::ModifyRmpIn::rmpn, rmp.number);
  in.at(prm::ModifyRmpIn::bitmask).back() = prm::kRmpBitmaskLwm;
  in.at(prm::ModifyRmpIn::ctx).at(prm::Rmpc::wq).set(prm::Wq::lwm, 2);
  ASSERT_EQ(client.modify(rmp.handle, Opcode::modify_rmp, in), 0);
  const auto record = read_record(file.get());
  EXPECT_EQ(cookie_of(record), 3u);
  EXPECT_EQ(record[kCookieBytes + 0x34], 1) << "a receive queue";
}

TEST_F(UverbsDevxEvents, WrongSubscriptionsAreRefused) {
  const UniqueFileDescriptor file(open_events(0));
  EXPECT_EQ(subscribe(file.get(), qp.handle, {kPortChange}, 0), EINVAL);
  EXPECT_EQ(subscription(file.get(), {kLastWqe}, 0).make(*client.context), EINVAL);
  EXPECT_EQ(subscribe(file.get(), 0x7777, {kLastWqe}, 0), ENOENT);
  EXPECT_EQ(subscribe(0, qp.handle, {kLastWqe}, 0), EBADF);
  EXPECT_EQ(subscribe(client.make_channel(), qp.handle, {kLastWqe}, 0), EBADF) << "of completions";
}

TEST_F(UverbsDevxEvents, AQueryMayBeAnsweredThroughAFile) {
  Call alloc(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC);
  ASSERT_EQ(alloc.number(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE).make(*client.context), 0);
  const UniqueFileDescriptor file(
      static_cast<int>(alloc.given(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE)));
  const auto in = DevxClient::question(Opcode::query_rmp, rmp.number);
  const auto ask = [&](std::uint64_t request, std::uint64_t out_bytes) {
    return Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY)
        .number(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, rmp.handle)
        .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, in.bytes().data(), in.bytes().size())
        .number(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, static_cast<std::uint32_t>(file.get()))
        .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, request)
        .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, out_bytes)
        .make(*client.context);
  };
  EXPECT_EQ(ask(1, EventPipe::kMostBytes), EINVAL);
  ASSERT_EQ(ask(42, prm::QueryRmpOut::kBytes), 0);
  ASSERT_EQ(ask(43, 16), 0) << "refused, as its answer says";
  const auto first = read_record(file.get()), second = read_record(file.get());
  ASSERT_EQ(first.size(), 8 + prm::QueryRmpOut::kBytes);
  EXPECT_EQ(cookie_of(first), 42u);
  const prm::View<prm::QueryRmpOut> answer(std::span<const std::uint8_t>(first).subspan(8));
  EXPECT_EQ(answer.at(prm::QueryRmpOut::rmp_context).at(prm::Rmpc::wq).get(prm::Wq::log_wq_sz), 2u);
  ASSERT_EQ(second.size(), 8u + 16u);
  EXPECT_EQ(cookie_of(second), 43u);
  EXPECT_EQ(second[8], static_cast<std::uint8_t>(CommandStatus::bad_outp_len));
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

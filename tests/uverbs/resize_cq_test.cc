// RESIZE_CQ: a completion queue that moves to other entries.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::uint32_t kMore = 64;  // entries

struct alignas(64) Entries {
  Entries() { std::memset(static_cast<void*>(all.data()), format::kInvalidCqeByte, sizeof all); }
  std::array<format::Cqe64, 2 * kMore> all;  // of 128 bytes, half as many
};

format::CqeOpcode opcode_at(const format::Cqe64& entry) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(&entry);
  return format::CqeTail{__atomic_load_n(&words[7], __ATOMIC_ACQUIRE)}.opcode();
}

bool comes(const format::Cqe64& entry) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (opcode_at(entry) == format::CqeOpcode::invalid) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

struct UverbsResizeCq : testing::Test {
  UverbsResizeCq() {
    sender.make_all();
    receiver.make_all();
    sender.connect(receiver);
    receiver.connect(sender);
    handle = sender.send_cq.handle;
    driver.buf_addr = address_of(entries->all.data());
    driver.cqe_size = 64;
  }
  int resize() {
    ib_uverbs_resize_cq request{};
    ib_uverbs_resize_cq_resp answer{};
    request.cq_handle = handle;
    request.cqe = cqe;
    const int error = WriteCall(IB_USER_VERBS_CMD_RESIZE_CQ)
                          .core_in(request)
                          .core_out(answer)
                          .in(UVERBS_ATTR_UHW_IN, driver)
                          .make(*sender.context);
    now = answer.cqe;
    return error;
  }
  // Their CQEs are there, and not consumed.
  void send(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) receiver.post_receive(0, 64);
    for (std::uint32_t i = 0; i < count; ++i) sender.post_send(0, 64);
    for (std::uint32_t i = 0; i < count; ++i) receiver.next(receiver.receive_cq);
  }

  std::unique_ptr<Device> one = open_device(), other = open_device();
  std::unique_ptr<Entries> entries = std::make_unique<Entries>();
  Client sender{*one}, receiver{*other};
  std::uint32_t handle = 0;
  std::uint32_t cqe = kMore - 1;  // that are asked for
  std::uint32_t now = 0;          // that there are
  mlx5_ib_resize_cq driver{};
};

TEST_F(UverbsResizeCq, AMarkerEndsTheOldEntries) {
  send(3);
  const auto& old = sender.send_cq.memory->entries;
  ASSERT_TRUE(comes(old[2]));
  ASSERT_EQ(resize(), 0);
  EXPECT_EQ(now, kMore - 1);
  EXPECT_EQ(opcode_at(old[3]), format::CqeOpcode::resized);
  EXPECT_EQ(opcode_at(old[4]), format::CqeOpcode::invalid);
  std::memset(static_cast<void*>(sender.send_cq.memory->entries.data()), 0xee, sizeof old);
  send(1);
  ASSERT_TRUE(comes(entries->all[4]));
  EXPECT_EQ(entries->all[4].wqe_counter, 3);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(opcode_at(entries->all[i]), format::CqeOpcode::invalid);
  EXPECT_EQ(old[4].op_own, 0xee);
}

TEST_F(UverbsResizeCq, EntriesMayBecomeLonger) {
  driver.cqe_size = 128;
  ASSERT_EQ(resize(), 0);
  send(1);
  ASSERT_TRUE(comes(entries->all[3]));  // the second half of entry 1, behind the marker's place
  EXPECT_EQ(opcode_at(entries->all[2]), format::CqeOpcode::invalid);
}

TEST_F(UverbsResizeCq, NumbersAreRoundedUp) {
  cqe = 33;
  ASSERT_EQ(resize(), 0);
  EXPECT_EQ(now, 63u);
}

TEST_F(UverbsResizeCq, AsManyEntriesAsThereAreStayWhereTheyAre) {
  cqe = kQueue - 1;
  driver.buf_addr = kNowhere;
  ASSERT_EQ(resize(), 0);
  EXPECT_EQ(now, kQueue - 1);
  send(1);
  EXPECT_TRUE(comes(sender.send_cq.memory->entries[0]));
}

TEST_F(UverbsResizeCq, EntriesThatDoNotTakeWhatIsThereAreRefused) {
  send(5);
  ASSERT_TRUE(comes(sender.send_cq.memory->entries[4]));
  cqe = 3;
  EXPECT_EQ(resize(), EINVAL);
  EXPECT_EQ(opcode_at(sender.send_cq.memory->entries[5]), format::CqeOpcode::invalid);
  for (int i = 0; i < 2; ++i) sender.next(sender.send_cq);
  EXPECT_EQ(resize(), 0);
  EXPECT_EQ(opcode_at(sender.send_cq.memory->entries[5]), format::CqeOpcode::resized);
}

TEST_F(UverbsResizeCq, RequestsAreChecked) {
  handle = sender.pd;
  EXPECT_EQ(resize(), EINVAL);
  handle = sender.send_cq.handle;
  cqe = 0;
  EXPECT_EQ(resize(), EINVAL);
  cqe = 1u << 22;
  EXPECT_EQ(resize(), EINVAL);
  cqe = ~0u;
  EXPECT_EQ(resize(), EINVAL);
  cqe = kMore - 1;
  driver.reserved0 = 1;
  EXPECT_EQ(resize(), EINVAL);
  driver.reserved0 = 0;
  driver.reserved1 = 1;
  EXPECT_EQ(resize(), EINVAL);
  driver.reserved1 = 0;
  for (const std::uint16_t size : {0, 32, 96, 256}) {
    driver.cqe_size = size;
    EXPECT_EQ(resize(), EINVAL) << size;
  }
  driver.cqe_size = 64;
  driver.buf_addr += 8;
  EXPECT_EQ(resize(), EINVAL);
  driver.buf_addr = kNowhere & ~std::uint64_t{63};
  EXPECT_EQ(resize(), EFAULT);
  ib_uverbs_resize_cq_resp answer{};
  EXPECT_EQ(WriteCall(IB_USER_VERBS_CMD_RESIZE_CQ).core_out(answer).make(*sender.context), ENOSPC);
  // Nothing of this has moved it.
  send(1);
  EXPECT_TRUE(comes(sender.send_cq.memory->entries[0]));
}

TEST_F(UverbsResizeCq, AQueueThatHasMovedCanBeDestroyed) {
  ASSERT_EQ(resize(), 0);
  ASSERT_EQ(sender.destroy_qp(sender.qp), 0);
  EXPECT_EQ(sender.destroy_cq(sender.send_cq.handle), 0);
  entries.reset();
}

// Datagrams, which complete by what their sender does alone.
TEST(UverbsResizeCqOfDatagrams, ComesBehindWhatHasBeenPosted) {
  const std::unique_ptr<Device> device = open_device();
  Client other(*device);
  for (int i = 0; i < 5; ++i) other.make_uar();  // pages that come first when the NIC looks
  for (int round = 0; round < 20; ++round) {
    Client sender(*device);
    sender.type = IB_UVERBS_QPT_UD;
    sender.make_all();
    sender.connect(sender);
    format::AvSegment to{};
    const Gid gid = device->identity().gid(1);
    std::memcpy(to.rgid, gid.data(), gid.size());
    for (int i = 0; i < 6; ++i) sender.post_datagram(0, 8, to, sender.qpn);
    mlx5_ib_resize_cq driver{};
    Entries entries;
    driver.buf_addr = address_of(entries.all.data());
    driver.cqe_size = 64;
    ib_uverbs_resize_cq request{};
    ib_uverbs_resize_cq_resp answer{};
    request.cq_handle = sender.send_cq.handle;
    request.cqe = 3;
    ASSERT_EQ(WriteCall(IB_USER_VERBS_CMD_RESIZE_CQ)
                  .core_in(request)
                  .core_out(answer)
                  .in(UVERBS_ATTR_UHW_IN, driver)
                  .make(*sender.context),
              EINVAL)
        << "6 CQEs do not fit";
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

// The proxy's side of a queue: what it makes of commands, and what it passes on.
#include "device/proxied_queue.h"

#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "core/host/proxy.h"
#include "tests/device/stub_nic.h"

namespace gdakit {
namespace {

using test::StubQueue;

constexpr std::uint32_t kDepth = 64;
constexpr Span kRemote{0x7f00'1234'5678, 4096, Be32{0x01020304}};
constexpr Span kLocal{0x5500'8765'4320, 4096, Be32{0x0a0b0c0d}};

// The view of a stub whose sink is everybody's: where it lies stands in a WQE.
QueueView view_of(const StubQueue& queue) {
  static std::uint64_t sink = 0;
  QueueView view = queue.view();
  view.sink = &sink;
  return view;
}

// A queue on both of its sides, and what stands between them.
struct Pair {
  explicit Pair(Handler handler = Handler::commands)
      : device(kDepth, Sharing::shared, handler),
        nic(kDepth),
        queue(ProxiedQueue::of(view_of(device), view_of(nic))) {}

  // Announces all commands below `index` and has the proxy look once.
  bool announce(std::uint64_t index) {
    __atomic_store_n(device.view().doorbell, index, __ATOMIC_RELEASE);
    return proxied::announce(m, queue);
  }
  bool pass_on() { return proxied::pass_completion_on(m, queue); }
  format::CqeTail passed_on() const { return {device.view().cqe[kCqeTailWord]}; }

  StubQueue device;
  StubQueue nic;
  ProxyMachine m;
  ProxiedQueue queue;
};

// One thing that the device asks for: by a WQE, or by a command, as the queue's handler says.
struct Operation {
  const char* name;
  void (*write)(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags);
  std::uint32_t wqebbs = 1;
};

template <format::Opcode kOpcode, std::uint32_t kBytes>
void rdma(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags) {
  write_rdma(m, queue, index, kOpcode, flags, kRemote, kLocal, kBytes);
}
template <std::uint32_t kBytes>
void value(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags) {
  write_inline(m, queue, index, flags, kRemote, 0x8877665544332211 >> (64 - 8 * kBytes), kBytes);
}
template <atomics::Op kOp, std::uint32_t kBytes>
void atomic(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags) {
  const std::uint64_t ones = kBytes == 4 ? 0xffffffffu : ~std::uint64_t{0};
  const atomics::Request request{kOp, 0x0123456789abcdef & ones, 0xfedcba9876543210 & ones};
  atomics::write_atomic(m, queue, index, flags, kRemote, kLocal, request, kBytes);
}
void nop(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags) {
  write_nop(m, queue, index, flags);
}
void dump(ProxyMachine& m, const QueueView& queue, std::uint64_t index, std::uint8_t flags) {
  write_dump(m, queue, index, flags);
}

using atomics::Op;
using format::Opcode;

const Operation kOperations[] = {
    {"write", rdma<Opcode::rdma_write, 1000>},
    {"write_of_the_most", rdma<Opcode::rdma_write, 1u << 30>},
    {"read", rdma<Opcode::rdma_read, 8>},
    {"value_1", value<1>},
    {"value_2", value<2>},
    {"value_4", value<4>},
    {"value_8", value<8>},
    {"add_4", atomic<Op::add, 4>},
    {"add_8", atomic<Op::add, 8>},
    {"and_4", atomic<Op::bit_and, 4>},
    {"and_8", atomic<Op::bit_and, 8>, 2},
    {"or_4", atomic<Op::bit_or, 4>},
    {"or_8", atomic<Op::bit_or, 8>, 2},
    {"xor_4", atomic<Op::bit_xor, 4>},
    {"xor_8", atomic<Op::bit_xor, 8>},
    {"set_4", atomic<Op::set, 4>},
    {"set_8", atomic<Op::set, 8>, 2},
    {"compare_swap_4", atomic<Op::compare_swap, 4>},
    {"compare_swap_8", atomic<Op::compare_swap, 8>},
    {"nop", nop},
    {"dump", dump},
};

void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

class Translation : public testing::TestWithParam<Operation> {};

std::vector<std::uint64_t> words_of(const QueueView& queue) {
  std::vector<std::uint64_t> words;
  for (std::uint32_t i = 0; i < queue.depth * format::kSegmentsPerWqebb; ++i) {
    words.push_back(queue.slots[i].low);
    words.push_back(queue.slots[i].high);
  }
  return words;
}

// Word for word, in the slot of its number, over the end of the ring as well.
TEST_P(Translation, IsTheWqeThatTheDeviceWritesItself) {
  const Operation& operation = GetParam();
  const auto quiet = format::fm_ce_se(format::FenceMode::none, format::Completion::on_error);
  const auto loud = format::fm_ce_se(format::FenceMode::fence, format::Completion::always);
  for (const std::uint8_t flags : {quiet, loud}) {
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{3 * kDepth - 1}}) {
      StubQueue direct(kDepth);
      Pair pair;
      operation.write(pair.m, view_of(direct), index, flags);
      operation.write(pair.m, pair.device.view(), index, flags);
      pair.queue.announced = index;
      ASSERT_TRUE(pair.announce(index + operation.wqebbs));
      EXPECT_EQ(pair.queue.announced, index + operation.wqebbs);
      EXPECT_EQ(words_of(pair.nic.view()), words_of(direct.view())) << "index " << index;
      EXPECT_NE(words_of(pair.device.view()), words_of(direct.view())) << "no command at all";
      EXPECT_EQ(pair.nic.record(), format::wire_index(index + operation.wqebbs));
      EXPECT_EQ(pair.nic.doorbell(),
                format::doorbell_value(index + operation.wqebbs, StubQueue::kQpn));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Translation, testing::ValuesIn(kOperations),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ProxiedQueue, RingsForWhatIsNewAlone) {
  Pair pair;
  EXPECT_FALSE(pair.announce(0));
  for (std::uint64_t i = 0; i < 3; ++i) write_nop(pair.m, pair.device.view(), i, 0);
  EXPECT_TRUE(pair.announce(2));
  EXPECT_EQ(pair.nic.record(), 2u);
  EXPECT_FALSE(pair.announce(2));
  EXPECT_TRUE(pair.announce(3));
  EXPECT_EQ(pair.nic.control_at(2).wqe_index(), 2u);
}

// A device may announce a whole ring at once.
TEST(ProxiedQueue, TakesAFullRingPieceByPiece) {
  Pair pair;
  for (std::uint64_t i = 0; i < kDepth; ++i) write_nop(pair.m, pair.device.view(), i, 0);
  EXPECT_TRUE(pair.announce(kDepth));
  EXPECT_EQ(pair.nic.record(), proxied::kSlotsAtOnce);
  while (pair.announce(kDepth)) {
  }
  EXPECT_EQ(pair.nic.record(), kDepth);
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    EXPECT_EQ(pair.nic.control_at(i).wqe_index(), i);
    EXPECT_EQ(pair.nic.control_at(i).qpn(), StubQueue::kQpn);
  }
}

// A piece ends behind a command of two slots, not within.
TEST(ProxiedQueue, NeverCutsACommandOfTwoSlots) {
  Pair pair;
  write_nop(pair.m, pair.device.view(), 0, 0);
  for (std::uint64_t i = 1; i + 1 < kDepth; i += 2) {
    atomic<Op::set, 8>(pair.m, pair.device.view(), i, 0);
  }
  EXPECT_TRUE(pair.announce(kDepth - 1));
  EXPECT_EQ(pair.nic.record(), proxied::kSlotsAtOnce + 1);
  EXPECT_TRUE(pair.announce(kDepth - 1));
  EXPECT_EQ(pair.nic.record(), kDepth - 1);
}

TEST(ProxiedQueue, WritesNoWqesForADeviceThatDoes) {
  StubQueue both(kDepth, Sharing::shared, Handler::proxy);
  ProxyMachine m;
  ProxiedQueue queue = ProxiedQueue::of(both.view(), both.nic_view());
  __atomic_store_n(both.view().doorbell, 5, __ATOMIC_RELEASE);
  EXPECT_TRUE(proxied::turn(m, queue));
  EXPECT_EQ(both.record(), 5u);
  EXPECT_EQ(both.control_at(0).qpn(), 0u) << "nobody has written it";
  both.complete(4);
  EXPECT_FALSE(proxied::turn(m, queue)) << "the device polls the NIC's own CQE";
}

// What the NIC says of it breaks the queue.
TEST(ProxiedQueue, AsksTheNicToRefuseASlotWithoutACommand) {
  const auto beyond = static_cast<std::uint8_t>(atomics::command_kind(atomics::kLastOp)) + 1;
  for (const int kind : {0, beyond, 255}) {
    Pair pair;
    Command command;
    command.kind = static_cast<CommandKind>(kind);
    pair.device.view().slots[0] = bit_cast<format::Wqebb>(command).segments[0];
    EXPECT_TRUE(pair.announce(1));
    EXPECT_EQ(pair.nic.control_at(0).opcode(), static_cast<std::uint8_t>(proxied::kNoOpcode));
  }
}

// As the NIC refuses a WQE that stands in its slot for a lap.
TEST(ProxiedQueue, TakesNoCommandTwice) {
  Pair pair;
  write_nop(pair.m, pair.device.view(), 0, 0);
  EXPECT_TRUE(pair.announce(1));
  EXPECT_EQ(pair.nic.control_at(0).opcode(), static_cast<std::uint8_t>(Opcode::nop));
  pair.queue.announced = kDepth;
  EXPECT_TRUE(pair.announce(kDepth + 1));
  EXPECT_EQ(pair.nic.control_at(kDepth).wqe_index(), kDepth);
  EXPECT_EQ(pair.nic.control_at(kDepth).opcode(), static_cast<std::uint8_t>(proxied::kNoOpcode));
}

TEST(ProxiedQueue, PassesEachCompletionOnOnce) {
  Pair pair;
  EXPECT_FALSE(pair.pass_on()) << "there is no CQE yet";
  EXPECT_EQ(pair.passed_on().opcode(), format::CqeOpcode::invalid);
  pair.nic.complete(3);
  EXPECT_TRUE(pair.pass_on());
  EXPECT_EQ(pair.passed_on().opcode(), format::CqeOpcode::requester);
  EXPECT_EQ(pair.passed_on().wqe_counter(), 3u);
  EXPECT_FALSE(pair.pass_on());
  pair.nic.complete(4);
  EXPECT_TRUE(pair.pass_on());
  EXPECT_EQ(pair.passed_on().wqe_counter(), 4u);
}

// The first error is what the device's threads see, whatever the NIC flushes behind it.
TEST(ProxiedQueue, PassesTheFirstErrorOnAndNothingBehindIt) {
  Pair pair;
  pair.nic.fail(2, format::Syndrome::remote_access);
  EXPECT_TRUE(pair.pass_on());
  EXPECT_EQ(pair.passed_on().opcode(), format::CqeOpcode::requester_error);
  pair.nic.fail(3, format::Syndrome::flushed);
  EXPECT_FALSE(pair.pass_on());
  const std::uint64_t detail = pair.device.view().cqe[kCqeSyndromeWord];
  EXPECT_EQ(static_cast<format::Syndrome>(detail >> 56), format::Syndrome::remote_access);
  EXPECT_EQ(pair.passed_on().wqe_counter(), 2u);
}

TEST(Proxy, EndsWhileCommandsArePending) {
  Pair pair;
  for (std::uint64_t i = 0; i < kDepth; ++i) write_nop(pair.m, pair.device.view(), i, 0);
  {
    Proxy proxy;
    proxy.watch(ProxiedQueue::of(pair.device.view(), pair.nic.view()));
    __atomic_store_n(pair.device.view().doorbell, kDepth, __ATOMIC_RELEASE);
  }
  EXPECT_LE(pair.nic.record(), kDepth);
}

}  // namespace
}  // namespace gdakit

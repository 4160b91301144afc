// Payload by reference between processes: shm_wire with peer_memory.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_slot.h"
#include "backends/softnic/wire/shm_wire.h"
#include "core/base/process_status.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/every_operation.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic {
namespace {

using test::EngineRig;
using test::RigOptions;

constexpr std::uint64_t kHeapBytes = 0x10000;

// Endpoint e's heap lies at 0x100000 * (e + 1) in its own process, and at that plus 0x1000000 in
// every other.
DmaAddress own_heap(Endpoint endpoint) { return {0x100000 * (std::uint64_t{endpoint} + 1)}; }
DmaAddress mapped_heap(Endpoint endpoint) { return own_heap(endpoint) + 0x1000000; }

std::shared_ptr<PeerMemory> memory_of(Endpoint self, std::uint32_t endpoints) {
  auto memory = std::make_shared<PeerMemory>(endpoints, self);
  for (Endpoint endpoint = 0; endpoint < endpoints; ++endpoint) {
    memory->set(endpoint, endpoint == self ? own_heap(endpoint) : mapped_heap(endpoint),
                kHeapBytes);
  }
  return memory;
}

Packet reference_packet(Endpoint to, std::uint32_t psn, std::vector<Fragment> fragments) {
  Packet packet;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.destination = to;
  packet.header.psn = psn;
  for (const Fragment& fragment : fragments) {
    packet.header.payload_size += static_cast<std::uint32_t>(fragment.size);
    packet.fragments[packet.header.fragment_count++] = fragment;
  }
  return packet;
}

Packet value_packet(Endpoint to, std::uint32_t psn) {
  static const std::uint8_t kBytes[8] = {};
  Packet packet = reference_packet(to, psn, {});
  packet.header.payload_size = sizeof kBytes;
  packet.payload = kBytes;
  return packet;
}

struct Pair {
  explicit Pair(const ShmOptions& options = {.slots = 8, .mtu = 65536, .value_mtu = 256}) {
    segment = std::move(*ShmSegment::create(options));
    a = std::move(*segment->attach(0, memory_of(0, options.endpoints)));
    b = std::move(*segment->attach(1, memory_of(1, options.endpoints)));
  }
  bool send(const Packet& packet) {
    const bool sent = a->send(packet);
    a->flush();
    return sent;
  }

  std::shared_ptr<ShmSegment> segment;
  std::unique_ptr<ShmWire> a, b;
};

TEST(ShmReference, FragmentsArriveAsTheReceiverMapsThem) {
  Pair pair;
  EXPECT_EQ(pair.a->mtu(), 65536u);
  EXPECT_EQ(pair.a->value_mtu(), 256u);
  const Packet packet =
      reference_packet(1, 5, {{own_heap(0) + 16, 1000}, {own_heap(0) + 0x8000, 0x2000}});
  ASSERT_TRUE(pair.a->by_reference(packet));
  ASSERT_TRUE(pair.send(packet));
  const Packet* got = pair.b->receive();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->header.payload_size, 1000u + 0x2000);
  ASSERT_EQ(got->header.fragment_count, 2);
  EXPECT_EQ(got->fragments[0].address, mapped_heap(0) + 16);
  EXPECT_EQ(got->fragments[0].size, 1000u);
  EXPECT_EQ(got->fragments[1].address, mapped_heap(0) + 0x8000);
  EXPECT_EQ(got->fragments[1].size, 0x2000u);
  pair.b->retire(got);
}

TEST(ShmReference, ToItselfAnEndpointNamesItsOwnMemory) {
  Pair pair;
  ASSERT_TRUE(pair.send(reference_packet(0, 5, {{own_heap(0) + 16, 100}})));
  const Packet* got = pair.a->receive();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->fragments[0].address, own_heap(0) + 16);
  pair.a->retire(got);
}

TEST(ShmReference, OnlyWhatAllPeersHaveMappedGoesByReference) {
  const auto segment = std::move(*ShmSegment::create({}));
  const auto memory = std::make_shared<PeerMemory>(2, 0);
  const auto wire = std::move(*segment->attach(0, memory));
  const Packet packet = reference_packet(1, 0, {{own_heap(0), 64}});
  EXPECT_FALSE(wire->by_reference(packet));
  memory->set(0, own_heap(0), 4096);
  EXPECT_TRUE(wire->by_reference(packet));
  EXPECT_FALSE(wire->by_reference(reference_packet(1, 0, {{own_heap(0) + 4090, 64}})));
  EXPECT_FALSE(wire->by_reference(reference_packet(1, 0, {{own_heap(0), 64}, {{64}, 64}})));
  memory->set(0, own_heap(0), 8192);
  EXPECT_TRUE(wire->by_reference(reference_packet(1, 0, {{own_heap(0) + 4090, 64}})));
  const auto by_value = std::move(*segment->attach(1));
  EXPECT_FALSE(by_value->by_reference(packet));
}

TEST(ShmReference, WhatIsNotMappedOrDoesNotAddUpBreaksTheRing) {
  struct Damage {
    const char* what;
    std::size_t offset;  // in the slot
    std::uint64_t value;
  };
  for (const Damage& damage :
       {Damage{"behind the heap", 128, kHeapBytes}, Damage{"across its end", 128, kHeapBytes - 99},
        Damage{"an absurd offset", 128, ~0ull}, Damage{"an absurd size", 136, ~0ull},
        Damage{"no size", 136, 0}, Damage{"more than the payload", 136, 101},
        Damage{"less than the payload", 136, 99}}) {
    Pair pair;
    ASSERT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
    std::byte* slot = pair.segment->at(pair.segment->layout().slot(0, 1, 0));
    std::memcpy(slot + damage.offset, &damage.value, sizeof damage.value);
    EXPECT_EQ(pair.b->receive(), nullptr) << damage.what;
    EXPECT_TRUE(pair.b->broken(0)) << damage.what;
  }
}

TEST(ShmReference, FragmentsThatNoPacketHasBreakTheRing) {
  const auto is_refused = [](std::size_t offset, std::uint8_t value) {
    Pair pair;
    EXPECT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
    *pair.segment->at(pair.segment->layout().slot(0, 1, 0) + offset) = std::byte{value};
    return pair.b->receive() == nullptr && pair.b->broken(0);
  };
  EXPECT_TRUE(is_refused(offsetof(SlotHeader, fragment_count), kMaxFragments + 1));
  EXPECT_TRUE(is_refused(offsetof(SlotHeader, opcode),
                         static_cast<std::uint8_t>(PacketOpcode::atomic_request)));
  EXPECT_FALSE(
      is_refused(offsetof(SlotHeader, opcode), static_cast<std::uint8_t>(PacketOpcode::send_only)));
}

TEST(ShmReference, ARingOfAWireWithoutMemoryTakesNoReferences) {
  const auto segment = std::move(*ShmSegment::create({}));
  const auto a = std::move(*segment->attach(0, memory_of(0, 2)));
  const auto b = std::move(*segment->attach(1));
  ASSERT_TRUE(a->send(reference_packet(1, 1, {{own_heap(0), 100}})));
  a->flush();
  EXPECT_EQ(b->receive(), nullptr);
  EXPECT_TRUE(b->broken(0));
}

TEST(ShmRecall, ForgetsWhatNamesMemoryAndKeepsTheRest) {
  Pair pair;
  ASSERT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
  ASSERT_TRUE(pair.send(value_packet(1, 2)));
  Recall recall = pair.a->recall({.everything = true});
  ASSERT_TRUE(pair.a->recalled(recall));
  ASSERT_TRUE(pair.send(reference_packet(1, 3, {{own_heap(0), 100}})));
  for (const std::uint32_t psn : {2u, 3u}) {
    const Packet* got = pair.b->receive();
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->header.psn, psn);
    pair.b->retire(got);
  }
  EXPECT_EQ(pair.b->receive(), nullptr);
}

TEST(ShmRecall, WaitsForAReaderUntilItIsThrough) {
  Pair pair;
  ASSERT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
  const Packet* got = pair.b->receive();
  ASSERT_NE(got, nullptr);
  Recall recall = pair.a->recall({.everything = true});
  EXPECT_FALSE(pair.a->recalled(recall));
  pair.b->flush();
  EXPECT_FALSE(pair.a->recalled(recall));
  pair.b->retire(got);
  pair.b->flush();
  EXPECT_TRUE(pair.a->recalled(recall));
}

TEST(ShmRecall, DoesNotWaitForAReaderThatHasLeft) {
  Pair pair;
  ASSERT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
  ASSERT_NE(pair.b->receive(), nullptr);
  Recall recall = pair.a->recall({.everything = true});
  EXPECT_FALSE(pair.a->recalled(recall));
  pair.b.reset();
  EXPECT_TRUE(pair.a->recalled(recall));
}

TEST(ShmRecall, CoversWhatWasSentSinceOneThatDidNotEnd) {
  Pair pair;
  ASSERT_TRUE(pair.send(reference_packet(1, 1, {{own_heap(0), 100}})));
  const Packet* const held = pair.b->receive();
  ASSERT_NE(held, nullptr);
  Recall recall = pair.a->recall({.everything = true});
  ASSERT_FALSE(pair.a->recalled(recall));
  ASSERT_TRUE(pair.send(reference_packet(1, 2, {{own_heap(0), 100}})));
  Recall second = pair.a->recall({.everything = true});
  EXPECT_FALSE(pair.a->recalled(second));
  pair.b->retire(held);
  pair.b->flush();
  EXPECT_TRUE(pair.a->recalled(second));
  EXPECT_EQ(pair.b->receive(), nullptr);
}

// A process that receives a packet, which `send` sends, and holds it for ever.
pid_t start_reader(const std::shared_ptr<ShmSegment>& segment, const std::function<void()>& send) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto say = [&](char byte) {
      if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    };
    auto wire = segment->attach(1, memory_of(1, 2));
    say(wire ? 'a' : 'n');
    while (wire && (*wire)->receive() == nullptr) ::usleep(100);
    say('r');
    for (;;) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'a');
  send();
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'r');
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

TEST(ShmRecall, DoesNotWaitForAReaderThatWasKilled) {
  const auto segment = std::move(*ShmSegment::create({}));
  auto a = std::move(*segment->attach(0, memory_of(0, 2)));
  const pid_t child = start_reader(segment, [&] {
    EXPECT_TRUE(a->send(reference_packet(1, 1, {{own_heap(0), 100}})));
    a->flush();
  });
  Recall recall = a->recall({.everything = true});
  EXPECT_FALSE(a->recalled(recall));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  // Nobody has waited for it yet: a zombie reads nothing either.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  std::this_thread::sleep_for(std::chrono::nanoseconds(RunningProcess::kOldest));
  EXPECT_TRUE(a->recalled(recall));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // Its successor begins with a clean epoch: what it receives can be recalled in its turn.
  auto b = segment->attach(1, memory_of(1, 2));
  ASSERT_TRUE(b);
  Recall second = a->recall({.everything = true});
  EXPECT_TRUE(a->recalled(second));
  ASSERT_TRUE(a->send(reference_packet(1, 2, {{own_heap(0), 100}})));
  a->flush();
  const Packet* got = (*b)->receive();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->header.psn, 2u);
  Recall third = a->recall({.everything = true});
  EXPECT_FALSE(a->recalled(third));
  (*b)->retire(got);
  (*b)->flush();
  EXPECT_TRUE(a->recalled(third));
}

// Two engines of this process, whose heaps are shared as far as `shared` bytes.
class SharedRig {
 public:
  SharedRig(const ShmOptions& shm, std::uint64_t shared, RigOptions options = {})
      : segment(std::move(*ShmSegment::create(shm))),
        memories{std::make_shared<PeerMemory>(2, 0), std::make_shared<PeerMemory>(2, 1)} {
    options.wrap_wire = [this](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
      const auto endpoint = static_cast<Endpoint>(side);
      auto wire = std::move(*segment->attach(endpoint, memories[side]));
      if (side == 1) return wire;
      const auto lost = [this](const Packet&) { return ++sent == lost_packet; };
      return std::make_unique<test::LossyWire>(std::move(wire), test::Losses{.drop = lost});
    };
    rig = std::make_unique<EngineRig>(options);
    for (const auto& memory : memories) {
      memory->set(0, host_address(rig->a.heap.data()), shared);
      memory->set(1, host_address(rig->b.heap.data()), shared);
    }
  }

  std::shared_ptr<ShmSegment> segment;
  std::shared_ptr<PeerMemory> memories[2];
  std::unique_ptr<EngineRig> rig;
  int sent = 0;         // packets of a
  int lost_packet = 0;  // one of these
};

constexpr ShmOptions kLongByReference{.slots = 8, .mtu = 8192, .value_mtu = 256};

TEST(ShmReferenceEngine, PerformsEveryOperation) {
  SharedRig shared(kLongByReference, 1 << 20);
  test::run_every_operation(*shared.rig, 20'000);
}

TEST(ShmReferenceEngine, PacketsAreAsLongAsTheirPayloadsWayAllows) {
  SharedRig shared(kLongByReference, 100'000);
  EngineRig& rig = *shared.rig;
  const auto packets_of = [&](const test::Wqe& wqe) {
    const std::uint64_t before = rig.a.engine.counters().packets_sent;
    rig.a.post(wqe);
    rig.a.ring();
    EXPECT_TRUE(rig.run());
    return rig.a.engine.counters().packets_sent - before;
  };
  test::fill(rig.a.heap.data(), 200'000, 3);
  EXPECT_EQ(packets_of(test::write_wqe(rig, 0, 0, 16'384)), 2u);               // 8192 each
  EXPECT_EQ(packets_of(test::write_wqe(rig, 150'000, 150'000, 16'384)), 64u);  // 256 each
  // From both sides of the border: the packet that touches what is not shared goes by value.
  EXPECT_EQ(packets_of(test::write_wqe(rig, 99'000, 99'000, 2'000)), 8u);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 150'000, rig.a.heap.data() + 150'000, 16'384), 0);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 99'000, rig.a.heap.data() + 99'000, 2'000), 0);
}

TEST(ShmReferenceEngine, ALongReadOfMemoryThatIsNotSharedGoesByValue) {
  SharedRig shared(kLongByReference, 100'000);
  EngineRig& rig = *shared.rig;
  test::fill(rig.b.heap.data() + 90'000, 40'000, 3);
  rig.a.post(test::read_wqe(rig, 0, 110'000, 10'000));
  rig.a.post(test::read_wqe(rig, 20'000, 90'000, 20'000));  // from both sides of the border
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 2; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data() + 110'000, 10'000), 0);
  EXPECT_EQ(std::memcmp(rig.a.heap.data() + 20'000, rig.b.heap.data() + 90'000, 20'000), 0);
}

// A message whose first half went by value is sent again by reference.
TEST(ShmReferenceEngine, MemoryThatIsSharedMeanwhileChangesNoCut) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  SharedRig shared(kLongByReference, 0, options);
  EngineRig& rig = *shared.rig;
  test::fill(rig.a.heap.data(), 40'000, 3);
  shared.lost_packet = 3;
  rig.a.post(test::write_wqe(rig, 0, 0, 20'000));
  rig.a.ring();
  while (shared.sent < 5) rig.a.engine.step(rig.now_ns += 50);
  for (const auto& memory : shared.memories) {
    memory->set(0, host_address(rig.a.heap.data()), 1 << 20);
    memory->set(1, host_address(rig.b.heap.data()), 1 << 20);
  }
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_GT(rig.b.engine.counters().naks, 0u);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 20'000), 0);
}

// Lost packets are cut again as they were the first time, by value and by reference.
TEST(ShmReferenceEngine, WhatIsSentAgainIsCutTheSame) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  SharedRig shared(kLongByReference, 100'000, options);
  EngineRig& rig = *shared.rig;
  test::fill(rig.a.heap.data(), 200'000, 3);
  for (std::size_t at = 60'000; at < 160'000; at += 20'000) {
    rig.a.post(test::write_wqe(rig, at, at, 20'000));
  }
  rig.a.ring();
  // A recall in the middle, again and again, makes the wire forget what is under way.
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3; ++i) rig.a.engine.step(rig.now_ns += 50);
    Recall recall = rig.a.wire->recall({.everything = true});
    while (!rig.a.wire->recalled(recall)) rig.b.engine.step(rig.now_ns += 50);
    rig.b.engine.step(rig.now_ns += 50);
  }
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 5; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_GT(rig.a.engine.counters().retries + rig.b.engine.counters().naks, 0u);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 60'000, rig.a.heap.data() + 60'000, 100'000), 0);
}

}  // namespace
}  // namespace gdakit::softnic

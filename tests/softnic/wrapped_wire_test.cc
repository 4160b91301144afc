// Wires around a wire: what they do not change is the inner wire's.
#include "backends/softnic/wire/wrapped_wire.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/capture_wire.h"
#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/trace_wire.h"
#include "core/host/trace/trace_file.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

enum class Call {
  endpoint,
  mtu,
  value_mtu,
  psn_bytes,
  path,
  by_reference,
  send,
  receive,
  retire,
  flush,
  recall,
  recalled,
  unread,
  add_counters,
  count
};

// A wire that notes its calls, and answers unlike other wires. It derives from Wire itself, so
// that it does not compile without a call that Wire has got; kChecks wants its row then.
class NotedWire final : public Wire {
 public:
  explicit NotedWire(std::set<Call>& calls) : calls_(calls) {}

  static constexpr Endpoint kEndpoint = 77;
  static constexpr Endpoint kPeer = 3;

  Endpoint endpoint() const override { return note(Call::endpoint), kEndpoint; }
  std::uint32_t mtu() const override { return note(Call::mtu), 5000; }
  std::uint32_t value_mtu() const override { return note(Call::value_mtu), 700; }
  std::uint32_t psn_bytes() const override { return note(Call::psn_bytes), 256; }
  WirePath path(Endpoint peer) const override {
    return note(Call::path), WirePath{.mtu = 600 + peer, .over_udp = true};
  }
  bool by_reference(const Packet& packet) const override {
    return note(Call::by_reference), packet.header.destination == kPeer;
  }
  bool send(const Packet& packet) override {
    return note(Call::send), packet.header.destination == kPeer;
  }
  const Packet* receive() override { return note(Call::receive), &packet_; }
  void retire(const Packet* packet) override {
    if (packet == &packet_) note(Call::retire);
  }
  void flush() override { note(Call::flush); }
  Recall recall(const RecallScope& scope) override {
    Recall recall;
    recall.waits.push_back({.peer = scope.requester.value_or(0)});
    return note(Call::recall), recall;
  }
  bool recalled(Recall& recall) override { return note(Call::recalled), recall.waits.size() == 2; }
  bool unread(Endpoint peer) const override { return note(Call::unread), peer == kPeer; }
  void add_counters(NicCounters& counters) const override {
    note(Call::add_counters);
    counters.udp_strangers += 9;
  }

 private:
  void note(Call call) const { calls_.insert(call); }

  std::set<Call>& calls_;
  Packet packet_;
};

Packet acknowledge_to(Endpoint peer) {
  Packet packet;
  packet.header.destination = peer;
  packet.header.opcode = PacketOpcode::acknowledge;
  packet.header.aeth = {};
  return packet;
}

// Whether a wire answers this call as a NotedWire does.
struct Check {
  Call call;
  bool (*holds)(Wire&);
};

constexpr Endpoint kPeer = NotedWire::kPeer;
constexpr std::array kChecks = {
    Check{Call::endpoint, [](Wire& wire) { return wire.endpoint() == NotedWire::kEndpoint; }},
    Check{Call::mtu, [](Wire& wire) { return wire.mtu() == 5000; }},
    Check{Call::value_mtu, [](Wire& wire) { return wire.value_mtu() == 700; }},
    Check{Call::psn_bytes, [](Wire& wire) { return wire.psn_bytes() == 256; }},
    Check{Call::path,
          [](Wire& wire) { return wire.path(kPeer).mtu == 603 && wire.path(kPeer).over_udp; }},
    Check{Call::by_reference,
          [](Wire& wire) {
            return wire.by_reference(acknowledge_to(kPeer)) && !wire.by_reference({});
          }},
    Check{Call::send, [](Wire& wire) { return wire.send(acknowledge_to(kPeer)); }},
    Check{Call::receive, [](Wire& wire) { return wire.receive() != nullptr; }},
    Check{Call::retire, [](Wire& wire) { return wire.retire(wire.receive()), true; }},
    Check{Call::flush, [](Wire& wire) { return wire.flush(), true; }},
    Check{Call::recall,
          [](Wire& wire) { return wire.recall({.requester = 5}).waits.at(0).peer == 5; }},
    Check{Call::recalled,
          [](Wire& wire) {
            Recall recall;
            recall.waits.resize(2);
            return wire.recalled(recall);
          }},
    Check{Call::unread, [](Wire& wire) { return wire.unread(kPeer) && !wire.unread(0); }},
    Check{Call::add_counters,
          [](Wire& wire) {
            NicCounters counters;
            wire.add_counters(counters);
            return counters.udp_strangers == 9;
          }},
};

constexpr bool checks_all_calls_in_their_order() {
  for (std::size_t i = 0; i < kChecks.size(); ++i) {
    if (kChecks[i].call != static_cast<Call>(i)) return false;
  }
  return kChecks.size() == static_cast<std::size_t>(Call::count);
}
static_assert(checks_all_calls_in_their_order());

// A wire that changes nothing.
class BareWire final : public WrappedWire {
 public:
  explicit BareWire(std::unique_ptr<Wire> inner) : WrappedWire(std::move(inner)) {}
};

class WireAroundAWire : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Each call reaches the wire inside, whose answer is the wire's around it.
  void expect_forwards(const std::function<std::unique_ptr<Wire>(std::unique_ptr<Wire>)>& wrap) {
    std::set<Call> calls;
    const std::unique_ptr<Wire> wire = wrap(std::make_unique<NotedWire>(calls));
    for (const Check& check : kChecks) {
      calls.clear();
      EXPECT_TRUE(check.holds(*wire)) << "call " << static_cast<int>(check.call);
      EXPECT_TRUE(calls.contains(check.call)) << "call " << static_cast<int>(check.call);
    }
  }

  const std::string folder_ =
      testing::TempDir() + "gdakit_wrapped_wire_" + std::to_string(::getpid());
};

TEST_F(WireAroundAWire, ForwardsWhatItDoesNotChange) {
  expect_forwards([](auto inner) { return std::make_unique<BareWire>(std::move(inner)); });
}

TEST_F(WireAroundAWire, ATraceChangesNothing) {
  auto file = TraceFile::create(folder_, 0, "nic", Log());
  ASSERT_TRUE(file) << file.error().message();
  NicTrace trace(std::move(*file));
  expect_forwards([&](auto inner) { return std::make_unique<TraceWire>(std::move(inner), trace); });
}

TEST_F(WireAroundAWire, ACaptureChangesNothing) {
  expect_forwards([&](auto inner) {
    auto file = CaptureFile::create(folder_ + "/pe0.pcapng", {});
    EXPECT_TRUE(file) << file.error().message();
    return std::make_unique<CaptureWire>(std::move(inner), std::move(*file));
  });
}

TEST_F(WireAroundAWire, NoFaultsChangeNothing) {
  expect_forwards([](auto inner) { return make_faulty(std::move(inner), Faults()); });
  expect_forwards(
      [](auto inner) { return std::make_unique<LossyWire>(std::move(inner), Losses()); });
}

}  // namespace
}  // namespace gdakit::softnic::test

// Removals that a peer holds up.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/nic_client.h"

namespace gdakit::softnic::test {
namespace {

// A port whose copies do not come to an end before they may.
class HeldDma final : public HostDma {
 public:
  explicit HeldDma(const std::atomic<bool>& held) : held_(held) {}
  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override {
    static_cast<void>(HostDma::copy(to, from, size));
    return {held_ ? std::uint64_t{1} : 0};
  }
  bool done(DmaOp op) override { return op.id == 0 || !held_; }

 private:
  const std::atomic<bool>& held_;
};

NicOptions waiting_for(std::chrono::milliseconds limit) {
  NicOptions options;
  options.removal_limit = limit;
  return options;
}

// A peer that holds a packet of a's for each of some keys and does not go on, as one whose process
// is stopped.
struct HeldPeer {
  HeldPeer(std::chrono::milliseconds limit, std::size_t key_count)
      : a(*fabric, waiting_for(limit)), b(*fabric, {}, std::make_unique<HeldDma>(held)) {
    a.connect(b);
    b.connect(a);
    const DmaAddress base = host_address(a.heap.data());
    for (std::size_t i = 0; i < key_count; ++i) {
      a.key = *a.nic->reg_mr({a.pd, base, base.value, 4096, Access::all, kAnyQp, {}});
      keys.push_back(a.key);
      a.post_write(b.address(0), b.key, a.address(0), 4096);
    }
    a.ring();
    while (b.nic->counters().packets_received < key_count) std::this_thread::yield();
  }
  ~HeldPeer() { held = false; }

  std::atomic<bool> held{true};
  std::vector<MemoryKey> keys;
  std::shared_ptr<LoopbackFabric> fabric = LoopbackFabric::create();
  Client a, b;
};

TEST(Nic, ARemovalThatGivesUpKeepsNothingFromTheNext) {
  HeldPeer pair(std::chrono::milliseconds(500), 3);
  const Result<> given_up = pair.a.nic->dereg_mr(pair.keys[0]);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code(), Code::timed_out);
  EXPECT_NE(given_up.error().message().find("a peer still uses the memory after 0.5 s"),
            std::string::npos)
      << given_up.error().message();
  EXPECT_FALSE(pair.a.nic->dereg_mr(pair.keys[1]));
  EXPECT_FALSE(pair.a.nic->end_removals());
  pair.held = false;
  EXPECT_TRUE(pair.a.nic->dereg_mr(pair.keys[2]));
  EXPECT_TRUE(pair.a.nic->end_removals());
}

// By the same key, which the peer has known since before.
TEST(Nic, AKeyThatIsRegisteredAnewIsOfTheNewMemory) {
  const auto fabric = LoopbackFabric::create();
  Client a(*fabric), b(*fabric);
  a.connect(b);
  b.connect(a);
  std::vector<std::uint8_t> other(b.heap.size());
  const std::uint64_t start = b.address(0);
  const MrAttributes moved{
      b.pd, host_address(other.data()), start, other.size(), Access::all, kAnyQp, {}};
  a.heap.data()[0] = 7;
  a.post_write(start, b.key, a.address(0), 1);
  a.ring();
  ASSERT_TRUE(a.wait());
  EXPECT_EQ(b.heap.data()[0], 7);
  ASSERT_TRUE(b.nic->rereg_mr(b.key, moved));
  a.heap.data()[0] = 8;
  a.post_write(start, b.key, a.address(0), 1);
  a.ring();
  ASSERT_TRUE(a.wait());
  EXPECT_EQ(other[0], 8);
  EXPECT_EQ(b.heap.data()[0], 7);
  MrAttributes closed = moved;
  closed.access = Access::local_read | Access::local_write;
  ASSERT_TRUE(b.nic->rereg_mr(b.key, closed));
  a.post_write(start, b.key, a.address(0), 1);
  a.ring();
  EXPECT_FALSE(a.wait()) << "the peer may not write there any more";
}

TEST(Nic, TheEndWaitsOnceHoweverMuchIsRemoved) {
  constexpr int kRemovals = 40;
  constexpr std::chrono::milliseconds kLimit(200);
  HeldPeer pair(kLimit, kRemovals);
  const auto begin = std::chrono::steady_clock::now();
  pair.a.nic->begin_end();
  for (const MemoryKey key : pair.keys) {
    const Result<> given_up = pair.a.nic->dereg_mr(key);
    ASSERT_FALSE(given_up);
    const char* const waited = key == pair.keys[0] ? "after 0.2 s" : "after 0 s";
    EXPECT_NE(given_up.error().message().find(waited), std::string::npos)
        << given_up.error().message();
  }
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(taken, kLimit);
  EXPECT_LT(taken, kRemovals * kLimit / 2);
  pair.held = false;
}

}  // namespace
}  // namespace gdakit::softnic::test

// DC on a bad network: connections are made, ended and taken up again, and each request is executed
// once.
#include <cstring>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/dc_rig.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::size_t kInitiators = 6, kTargets = 2, kRounds = 24;
constexpr std::size_t kSum = 1 << 19, kRoom = 8192;

class DcFaults : public testing::TestWithParam<std::uint64_t> {
 protected:
  DcRigOptions options() {
    const std::uint64_t seed = GetParam();
    DcRigOptions options;
    options.initiators = kInitiators;
    options.targets = kTargets;
    options.log_srq = 9;
    options.rig.wire.mtu = 256;
    options.rig.log_cq = 9;
    options.rig.engine.dc = {.responders = 1 + static_cast<std::uint32_t>(seed % 3),
                             .tenure_ns = 20'000};
    options.rig.engine.dc_idle_ns = 100'000;
    options.rig.engine.adaptive_retransmission = options.rig.engine.selective_repeat =
        seed % 2 != 0;
    options.rig.wrap_wire = [this, seed](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
      const Faults faults = {.seed = seed,
                             .drop = 0.03,
                             .repeat = 0.03,
                             .reorder = 0.1,
                             .corrupt = 0.03,
                             .delay_max_ns = 20'000};
      return make_faulty(std::move(wire), faults, [this] { return now_ns; });
    };
    return options;
  }
  // The next work of an initiator, of its own kind in each round.
  void post(DcRig& rig, std::size_t initiator, std::size_t round) {
    const std::size_t target = (initiator + round) % kTargets, at = initiator * kRoom;
    switch (round % 4) {
      case 0: rig.send(initiator, target, rig.write(at, at, 3000)); break;
      case 1: rig.send(initiator, target, read_wqe(rig.rig, kSum + at, at, 3000)); break;
      case 2: {
        const std::size_t result = kSum + at + 4096;
        rig.send(initiator, target, fetch_add_wqe(rig.rig, result, kSum, 1));
        break;
      }
      default:
        rig.send(initiator, target,
                 rig.send_wqe(at, 1000, format::Opcode::send_imm,
                              static_cast<std::uint32_t>(initiator)));
    }
  }

  std::uint64_t now_ns = 1000;
};

TEST_P(DcFaults, EachRequestIsExecutedOnce) {
  DcRig rig(options());
  fill(rig.rig.a.heap.data(), kInitiators * kRoom, 5);
  constexpr std::size_t kSends = kInitiators * kRounds / 4;
  for (std::size_t i = 0; i < kSends; ++i) {
    rig.srq.post({rig.segment(kInitiators * kRoom + i * 1024, 1024)});
  }
  std::size_t done[kInitiators] = {}, posted[kInitiators] = {}, all = 0;
  std::vector<format::Cqe64> received;
  const bool ended = rig.rig.run_until([&] {
    now_ns = rig.rig.now_ns;
    while (const auto cqe = rig.rig.b.receive_cq.poll()) received.push_back(*cqe);
    for (std::size_t i = 0; i < kInitiators; ++i) {
      const std::size_t more = rig.succeeded(i);
      done[i] += more;
      all += more;
      while (posted[i] < kRounds && posted[i] - done[i] < 3) post(rig, i, posted[i]++);
    }
    return testing::Test::HasFailure() || all == kInitiators * kRounds;
  });
  ASSERT_TRUE(ended && !HasFailure()) << all << " of " << kInitiators * kRounds;
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(kSum), kInitiators * kRounds / 4);
  ASSERT_EQ(received.size(), kSends);
  for (const auto& cqe : received) {
    EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::responder_send_imm);
    const std::size_t at = kInitiators * kRoom + cqe.wqe_counter * 1024;
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + at,
                          rig.rig.a.heap.data() + cqe.imm_inval_pkey * kRoom, 1000),
              0);
  }
  for (std::size_t i = 0; i < kInitiators; ++i) {
    const std::uint8_t* const sent = rig.rig.a.heap.data() + i * kRoom;
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + i * kRoom, sent, 3000), 0);
    EXPECT_EQ(std::memcmp(rig.rig.a.heap.data() + kSum + i * kRoom, sent, 3000), 0);
  }
  for (std::size_t target = 0; target < kTargets; ++target) {
    ASSERT_TRUE(rig.drain(target));
    EXPECT_TRUE(rig.rig.b.engine.destroy_dct(rig.targets[target]));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DcFaults, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace gdakit::softnic::test

// Random lives of queue pairs that share a receive queue: they send, fail, are reset and are
// destroyed at any time, in memory of each kind. Whatever happens, each WQE that was taken
// completes once, and holds the message that its CQE names.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/srq_rig.h"
#include "tests/support/settings.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Syndrome;

constexpr std::uint32_t kPairs = 3, kLogWqes = 4, kPlace = 1024, kMostBytes = 900;
constexpr std::uint32_t kActions = 600;
constexpr std::uint32_t kMostSent = 1000;  // by one life of a queue pair: its send queue's slots
constexpr std::uint64_t kSeeds = kAddressSanitizer || kThreadSanitizer ? 60 : 400;

constexpr std::uint8_t kUntouched = 0xee;

struct Posted {
  std::vector<std::pair<std::size_t, std::uint32_t>> pieces;
};
struct Sent {
  std::size_t pair = 0;
  std::size_t from = 0;
  std::uint32_t size = 0;
};

class SrqModel {
 public:
  explicit SrqModel(std::uint64_t seed) : random_(static_cast<std::uint32_t>(seed)) {
    fill(rig_.rig.a.heap.data(), rig_.rig.a.heap.size(), 7);
  }

  void run() {
    for (std::uint32_t i = 0; i < kActions && !testing::Test::HasFailure(); ++i) act();
    for (const auto& pair : rig_.pairs) ASSERT_TRUE(engine_.destroy_qp(pair->to));
    for (int i = 0; i < 1000 && !engine_.drained(); ++i) step();
    ASSERT_TRUE(engine_.drained());
    step();
    // What is left was never taken.
    const auto left = static_cast<std::uint16_t>(posted_ - rig_.info().taken);
    EXPECT_EQ(wqes_.size(), left);
    for (std::size_t place = 0; place < 1u << kLogWqes; ++place) {
      if (used_places_.count(place) == 0) check_untouched(place);
    }
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return random_() % limit; }

  SrqRigOptions options() {
    SrqRigOptions options{.pairs = kPairs, .log_wqes = kLogWqes, .log_stride = 6};
    options.form = static_cast<SrqForm>(below(3));
    options.rig.wire.mtu = 256;
    options.rig.wire.slots = 4 << below(3);
    options.rig.settings.ack_timeout = 0;
    options.rig.settings.min_rnr_nak = 1;
    // Memory that is fast, or takes its time and is ordered or not.
    const std::uint32_t memory = below(3), seed = random_();
    if (memory == 0) return options;
    options.rig.make_port = [memory, seed](int side) {
      return std::make_unique<DelayedDma>(seed + static_cast<std::uint32_t>(side), memory == 1);
    };
    return options;
  }

  void act() {
    const std::uint32_t choice = below(100), pair = below(kPairs);
    if (choice < 35) {
      post();
    } else if (choice < 65) {
      send(pair);
    } else if (choice < 90) {
      for (std::uint32_t steps = below(8); steps != 0; --steps) step();
    } else if (choice < 92) {
      rig_.modify(pair, QpState::err);
    } else if (choice < 95) {
      start_over(pair);
    } else if (choice < 97) {
      const QpNumber old = rig_.pairs[pair]->to;
      rig_.remake(pair);
      wait_until_removed();
      last_told_[old] = true;
      start_over(pair);
    } else {
      ASSERT_TRUE(engine_.arm_srq(rig_.srqn, below(1 << kLogWqes)));
    }
  }

  // As a Nic waits: then all is complete that the queue pair had taken.
  void wait_until_removed() {
    const RemovalNumber removal = engine_.last_removal();
    for (int steps = 0; !engine_.removed(removal); ++steps) {
      ASSERT_LT(steps, 10'000);
      step();
    }
    step();
  }

  void start_over(std::size_t pair) {
    rig_.modify(pair, QpState::reset);
    wait_until_removed();
    rig_.connect(pair);
    lives_[pair] = {};
    last_told_[rig_.pairs[pair]->to] = false;
  }

  // One or two pieces of memory that is this WQE's alone; seldom too short for what comes.
  void post() {
    const bool is_list = rig_.srq.attributes(0).form == SrqForm::list;
    const std::size_t size = std::size_t{1} << kLogWqes;
    if (wqes_.size() + held_.size() + 1 >= size) return;
    if (!is_list && wqes_.count(posted_ % size) != 0) return;
    const std::size_t place = places_++ % size;
    if (used_places_.count(place) != 0) return;
    check_untouched(place);
    const std::uint32_t room = below(20) == 0 ? below(kMostBytes) : kMostBytes;
    const std::uint32_t first = below(room + 1);
    Posted wqe;
    for (const auto& [at, bytes] : {std::pair{0u, first}, std::pair{first, room - first}}) {
      if (bytes != 0) wqe.pieces.emplace_back(place * kPlace + at, bytes);
    }
    std::vector<format::DataSegment> segments;
    for (const auto& [at, bytes] : wqe.pieces) segments.push_back(rig_.segment(at, bytes));
    const std::uint16_t index = rig_.srq.post(segments);
    ++posted_;
    const std::size_t slot = index % size;
    ASSERT_TRUE(wqes_.emplace(slot, wqe).second);
    place_of_[slot] = place;
    used_places_[place] = true;
  }

  void send(std::size_t pair) {
    if (lives_[pair] == kMostSent) return;
    ++lives_[pair];
    const Sent message{pair, below(100'000), below(kMostBytes + 1)};
    rig_.send(pair, message.from, message.size, format::Opcode::send_imm,
              static_cast<std::uint32_t>(sent_.size()));
    sent_.push_back(message);
  }

  void step() {
    rig_.step();
    // Before the events: they come behind the CQEs that they tell of.
    for (const auto& cqe : rig_.received()) {
      complete(cqe);
      if (testing::Test::HasFailure()) return;
    }
    for (const Event& event : rig_.rig.b.events.take()) {
      if (event.kind != EventKind::last_wqe) continue;
      EXPECT_FALSE(std::exchange(last_told_[event.number], true));
    }
    // The client gives WQEs back when it likes, in any order. A list goes on by that order.
    while (!held_.empty() && below(3) != 0) {
      std::swap(held_[below(static_cast<std::uint32_t>(held_.size()))], held_.back());
      if (rig_.srq.attributes(0).form == SrqForm::list) rig_.srq.free(held_.back());
      held_.pop_back();
    }
  }

  void complete(const format::Cqe64& cqe) {
    const QpNumber qpn = cqe.sop_drop_qpn & 0xffffff;
    const std::uint16_t slot = cqe.wqe_counter % (1u << kLogWqes);
    EXPECT_FALSE(last_told_[qpn]) << "a CQE behind the last one";
    const auto found = wqes_.find(slot);
    ASSERT_NE(found, wqes_.end()) << "a CQE of a WQE that is not posted";
    if (opcode_of(cqe) == CqeOpcode::responder_error) {
      const Syndrome syndrome = syndrome_of(cqe);
      EXPECT_TRUE(syndrome == Syndrome::flushed || syndrome == Syndrome::local_length);
    } else {
      ASSERT_EQ(opcode_of(cqe), CqeOpcode::responder_send_imm);
      check(cqe, found->second);
    }
    const std::size_t place = place_of_[slot];
    used_places_.erase(place);
    std::memset(rig_.rig.b.heap.data() + place * kPlace, kUntouched, kPlace);
    was_used_[place] = true;
    wqes_.erase(found);
    held_.push_back(slot);
  }

  // Nothing is written to memory whose WQE has completed.
  void check_untouched(std::size_t place) {
    const std::uint8_t* const begin = rig_.rig.b.heap.data() + place * kPlace;
    const auto changed =
        std::find_if(begin, begin + kPlace, [](auto b) { return b != kUntouched; });
    EXPECT_TRUE(!was_used_[place] || changed == begin + kPlace) << "at byte " << changed - begin;
  }

  void check(const format::Cqe64& cqe, const Posted& wqe) {
    const std::uint32_t number = cqe.imm_inval_pkey;
    ASSERT_LT(number, sent_.size());
    const Sent& message = sent_[number];
    EXPECT_EQ(cqe.srqn_uidx, SrqRig::kUserIndex + message.pair);
    EXPECT_EQ(cqe.byte_cnt, message.size);
    EXPECT_GE(number + 1, next_[message.pair]) << "messages of a queue pair are out of order";
    next_[message.pair] = number + 2;
    std::size_t from = message.from;
    std::uint32_t left = message.size;
    for (const auto& [at, bytes] : wqe.pieces) {
      const std::uint32_t size = std::min(left, bytes);
      EXPECT_EQ(std::memcmp(rig_.rig.b.heap.data() + at, rig_.rig.a.heap.data() + from, size), 0);
      from += size;
      left -= size;
    }
    EXPECT_EQ(left, 0u);
  }

  std::mt19937 random_;
  SrqRig rig_{options()};
  Engine& engine_ = rig_.rig.b.engine;

  std::uint64_t posted_ = 0;
  std::size_t places_ = 0;
  std::map<std::size_t, Posted> wqes_;  // by slot: posted, and not completed
  std::map<std::size_t, std::size_t> place_of_;
  std::map<std::size_t, bool> used_places_, was_used_;
  std::vector<std::uint16_t> held_;            // completed, and not given back
  std::vector<Sent> sent_;                     // by number
  std::array<std::uint32_t, kPairs> lives_{};  // messages of each one's life
  std::array<std::uint64_t, kPairs> next_{};   // number of each one's next message, at least
  std::map<QpNumber, bool> last_told_;
};

TEST(SrqModel, EachWqeCompletesOnceWhateverBecomesOfItsQueuePair) {
  const auto [first, count] = gdakit::test::seeds(kSeeds);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SrqModel(seed).run();
    if (!testing::Test::HasFailure()) continue;
    FAIL() << "replay: GDAKIT_TEST_SEED=" << seed << " softnic_test --gtest_filter=SrqModel.*";
  }
}

}  // namespace
}  // namespace gdakit::softnic::test

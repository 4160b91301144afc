// Worlds whose PEs have two NICs show what several NICs do not promise: atomics of two NICs lose
// one another's changes, and nothing orders what goes by two of them. So the scenarios nics-* pass
// by what device/word_queue.h does, and not because the world is tame.
#include <string>

#include <gtest/gtest.h>

#include "sim/explore/explorer.h"
#include "sim/world/scenarios/scenarios.h"
#include "sim/world/world.h"

namespace gdakit::sim {
namespace {

using Word = std::uint64_t;

WorldOptions two_nics(Knobs base = hopper()) {
  WorldOptions options = scenarios::two_nics({});
  options.base = base;
  return options;
}

Exploration try_to_break(World& world) {
  ExploreOptions options;
  options.schedules = 5000;
  return explore(world, options);
}

using Handle = Poster<SimMachine, SharedPublication>;

// Two blocks add to a word of PE 1, each by the NIC of its own queue.
struct AddByOwnQueue {
  Word* counter;
  std::uint32_t nics;
  template <class Pe>
  void operator()(Pe& pe) const {
    HandleMemo memo;
    const std::uint32_t queue = pe.machine().block_index() % nics;
    const Handle poster{pe.machine(), pe.context(), queue, memo};
    atomics::post_anywhere(poster, counter, {atomics::Op::add, 1}, 1, Batch::last,
                           [](const QueueView& view) { return sink_of(view); });
    pe.quiet();
  }
};

Exploration add_by(std::uint32_t nics) {
  World world("add by own queue", two_nics());
  auto* counter = world.allocate<Word>("counter", 1);
  world.launch_on(0, {.blocks = 2, .threads = 1}, AddByOwnQueue{counter, nics});
  world.check([=](After& after) { after.expect(after.value(1, counter) == 2, "both count"); });
  return try_to_break(world);
}

TEST(SeveralNics, LoseWhatAnotherNicAddsMeanwhile) {
  EXPECT_FALSE(add_by(2).passed());
  const Exploration one = add_by(1);
  EXPECT_TRUE(one.passed()) << one.report();
}

// A put by the second NIC, and a signal that does not wait for it, or a signal of that queue.
struct PutThenSignal {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  std::uint32_t signal_queue;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      pe.on_queue(1).put_nbi(data, source, 1, 1);
      pe.on_queue(signal_queue).signal(signal, 1, SignalOp::set, 1);
      pe.quiet();
      return;
    }
    pe.wait_until(signal, Compare::eq, 1);
    witness->expect(m.load_weak(data) == 8, "the data is there when the signal is");
  }
};

Exploration signal_by(std::uint32_t queue) {
  World world("put then signal", two_nics());
  auto* source = world.allocate<Word>("source", 1);
  auto* data = world.allocate<Word>("data", 1);
  auto* signal = world.allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1},
               PutThenSignal{world.witness(), source, data, signal, queue});
  return try_to_break(world);
}

TEST(SeveralNics, OrderNothingAmongThemselves) {
  EXPECT_FALSE(signal_by(0).passed());
  const Exploration waits = signal_by(1);
  EXPECT_TRUE(waits.passed()) << waits.report();
}

// A put by the second NIC that has completed, and a word by the first that tells of it; in between
// a READ by the second, or nothing.
struct PutAndTell {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* word;
  bool reads;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      HandleMemo memo;
      const Handle poster{m, pe.context(), 1, memo};
      const Ticket put =
          rma::post(poster, ThreadGroup{}, rma::kPut, data, source, sizeof(Word), 1, Batch::last);
      poster.to(1).wait(put.index);
      if (reads) {
        const std::uint32_t at = completing::table_index(pe.context(), 1, 1);
        completing::read_there(m, post_context(pe.context()), &pe.context().queues[at], 1,
                               first_byte(pe.context(), 1, 1));
      }
      pe.on_queue(0).put_value(word, 1, 1);
      return;
    }
    pe.wait_until(word, Compare::eq, 1);
    witness->expect(m.load_weak(data) == 8, "the data is there when the word is");
  }
};

Exploration tell(bool reads) {
  World world("put and tell", two_nics());
  auto* source = world.allocate<Word>("source", 1);
  auto* data = world.allocate<Word>("data", 1);
  auto* word = world.allocate<std::uint64_t>("word", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1}, PutAndTell{world.witness(), source, data, word, reads});
  return try_to_break(world);
}

TEST(SeveralNics, AcknowledgeWhatOthersCannotSeeYet) {
  EXPECT_FALSE(tell(false).passed());
  const Exploration behind_a_read = tell(true);
  EXPECT_TRUE(behind_a_read.passed()) << behind_a_read.report();
}

// A get by the second NIC, made visible by a read of the NIC `nic`.
struct GetAndFlush {
  const Witness* witness;
  Word* data;
  Word* result;
  std::uint32_t nic;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    HandleMemo memo;
    const Handle poster{m, pe.context(), 1, memo};
    const Ticket got =
        rma::post(poster, ThreadGroup{}, rma::kGet, data, result, sizeof(Word), 1, Batch::last);
    poster.to(1).wait(got.index);
    QueueMemo own;
    auto through = own_queue(m, pe.context(), own, nic);
    flush_inbound(m, through);
    witness->expect(m.load_weak(result) == 30, "the result is there");
  }
};

Exploration flush_by(std::uint32_t nic) {
  World world("get and flush", two_nics(ampere()));
  auto* data = world.allocate<Word>("data", 1);
  auto* result = world.allocate<Word>("result", 1);
  world.set(1, data, Word{30});
  world.launch_on(0, {.blocks = 1, .threads = 1}, GetAndFlush{world.witness(), data, result, nic});
  return try_to_break(world);
}

TEST(SeveralNics, FlushEachWhatItWroteItself) {
  EXPECT_FALSE(flush_by(0).passed());
  const Exploration own = flush_by(1);
  EXPECT_TRUE(own.passed()) << own.report();
}

// Which NIC carried an atomic: by the requests that each of PE 1's has answered.
struct OneOfEach {
  Word* word;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto second = pe.on_queue(1);
    second.put_value(word, 1, 1);
    second.quiet();
    second.atomic_inc(word, 1);
    second.atomic_fetch_inc(word, 1);
    second.signal(word, 1, SignalOp::add, 1);
    second.quiet();
  }
};

TEST(SeveralNics, PutByTheirOwnAndChangeWordsByTheFirst) {
  World world("one of each", two_nics());
  auto* word = world.allocate<Word>("word", 1);
  world.launch_on(0, {.blocks = 1, .threads = 1}, OneOfEach{word});
  world.check([=](After& after) {
    after.expect(after.value(1, word) == 4, "all have been done");
    after.expect(after.nic_counters(1, 0).rx_atomic_requests == 3, "by the first NIC");
    after.expect(after.nic_counters(1, 0).rx_write_requests == 0, "no put");
    after.expect(after.nic_counters(1, 0).rx_read_requests == 1, "and one READ behind them");
    after.expect(after.nic_counters(1, 1).rx_atomic_requests == 0, "none by the second NIC");
    after.expect(after.nic_counters(1, 1).rx_write_requests == 1, "but the put");
    after.expect(after.nic_counters(1, 1).rx_read_requests == 1, "and one READ behind it");
  });
  ExploreOptions options;
  options.schedules = 1;
  const Exploration found = explore(world, options);
  EXPECT_TRUE(found.passed()) << found.report();
}

std::string setup_of(const WorldOptions& options) { return World("", options).problem(); }

TEST(SeveralNics, HaveAsManyQueuesEach) {
  WorldOptions options = two_nics();
  options.queues = 3;
  EXPECT_EQ(setup_of(options), "WorldOptions::queues is 3; give a multiple of nics, which is 2");
  options.nics = 9;
  EXPECT_EQ(setup_of(options), "WorldOptions::nics is 9; give 1 to 8");
}

}  // namespace
}  // namespace gdakit::sim

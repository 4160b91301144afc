// Crowds: thousands of threads on one queue, blocks with queues of their own, and queues so small
// that their counters wrap many times. On the emulator in sizes that a CPU takes at once.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::expect_job;
using test::in_turn;
using test::job_options;
using test::mismatch;

// How much of it: on a GPU, on the emulator, and anywhere under a tool that slows it down.
template <class T>
T sized_for(const Context& c, T gpu, T emulator, T small) {
  return test::sized(c.on_gpu() ? gpu : emulator, small);
}

// Lanes of a warp that come together post together; here they come one after the other.
enum class Lanes { together, one_by_one };

// What thread `me` of PE `pe` puts last, in the `puts`th round.
GDAKIT_HOST_DEVICE std::uint64_t last_value(std::size_t me, int pe, std::uint64_t puts) {
  return static_cast<std::uint64_t>(pe + 1) << 56 | static_cast<std::uint64_t>(me) << 24 | puts;
}

template <Lanes kLanes>
struct PutInCrowd {
  std::uint64_t* words;  // one of each thread
  std::uint64_t puts;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
    std::uint64_t refused = 0;
    for (std::uint64_t i = 1; i <= puts; ++i) {
      if constexpr (kLanes == Lanes::together) {
        refused += put(pe, me, i);
      } else {
        for (std::uint32_t turn = 0; turn < kWarpSize; ++turn) {
          if (turn == m.lane()) refused += put(pe, me, i);
        }
      }
    }
    expect(pe, pe.quiet().ok() && refused == 0);
  }

  template <class Pe>
  GDAKIT_DEVICE std::uint64_t put(Pe& pe, std::size_t me, std::uint64_t i) const {
    const std::uint64_t value = last_value(me, pe.my_pe(), i);
    return pe.put_value(words + me, value, 1 - pe.my_pe()).ok() ? 0 : 1;
  }
};

struct CrowdLoad {
  std::uint32_t depth;
  std::uint32_t queues;
  Lanes lanes;
};

void PrintTo(const CrowdLoad& load, std::ostream* out) {
  *out << "depth " << load.depth << ", " << load.queues << " queues, lanes "
       << (load.lanes == Lanes::together ? "together" : "one by one");
}

class Crowd : public testing::TestWithParam<CrowdLoad> {};

// Every thread of every block puts to its own word of the other PE; the last value must stand
// there.
TEST_P(Crowd, GetsEveryPutOfEveryThreadThrough) {
  const CrowdLoad load = GetParam();
  Options options = job_options();
  options.queue_depth = load.depth;
  options.queues_per_peer = load.queues;
  options.emulator_workers = 2;
  expect_job(2, in_turn(options), [&](Context& c) -> Result<void> {
    const auto shape = sized_for<LaunchShape>(c, {132, 256}, {16, 64}, {8, 64});
    const auto puts = sized_for<std::uint64_t>(c, 10, 5, 2);
    const std::size_t threads = std::size_t{shape.blocks} * shape.threads;
    auto words = c.allocate<std::uint64_t>(threads);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    const Result<void> ran =
        load.lanes == Lanes::together
            ? c.launch(PutInCrowd<Lanes::together>{*words, puts, checks->expect()}, shape)
            : c.launch(PutInCrowd<Lanes::one_by_one>{*words, puts, checks->expect()}, shape);
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(threads); !ok) return ok;
    return all_are(c, *words, threads, "word of thread",
                   [&](std::size_t i) { return last_value(i, 1 - c.my_pe(), puts); });
  });
}

INSTANTIATE_TEST_SUITE_P(
    Loads, Crowd,
    testing::Values(CrowdLoad{1024, 1, Lanes::together}, CrowdLoad{1024, 1, Lanes::one_by_one},
                    CrowdLoad{64, 1, Lanes::together}, CrowdLoad{64, 1, Lanes::one_by_one},
                    CrowdLoad{32768, 1, Lanes::one_by_one}, CrowdLoad{256, 32, Lanes::together},
                    CrowdLoad{64, 64, Lanes::together}, CrowdLoad{64, 64, Lanes::one_by_one}));

// A warp's lanes put in a loop, and write down which post of the queue was theirs.
struct PutByWarp {
  std::uint64_t* words;    // one of each lane
  std::uint64_t* tickets;  // of this PE: [puts][lanes]
  std::uint64_t puts;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    std::uint64_t* const word = words + m.lane();
    for (std::uint64_t i = 0; i < puts; ++i) {
      const Ticket ticket = pe.put_async(word, word, 1, 1 - pe.my_pe());
      m.store_weak(tickets + i * kWarpSize + m.lane(), ticket.index);
    }
    expect(pe, pe.quiet().ok());
  }
};

// Lanes that parted in one put, where one of them rings for all, meet again in the next one. The
// emulator's lanes wait for each other; on a GPU it takes what SendQueue::post does for it.
TEST(CrowdOfLanes, PostsTogetherInEachRoundOfALoop) {
  Options options = in_turn(job_options());
  options.transport = TransportChoice::nic;
  options.queue_type = QueueType::rc;  // where a put takes one slot
  expect_job(2, options, [](Context& c) -> Result<void> {
    constexpr std::uint64_t kPuts = 100;
    auto words = c.allocate<std::uint64_t>(kWarpSize);
    auto tickets = c.allocate<std::uint64_t>(kPuts * kWarpSize);
    auto checks = Checks::make(c);
    if (!words || !tickets || !checks) return mismatch("allocate");
    const PutByWarp kernel{*words, *tickets, kPuts, checks->expect()};
    if (auto ran = c.launch(kernel, {1, kWarpSize}); !ran) return ran;
    if (auto held = checks->all_held(kWarpSize); !held) return held;
    const auto first = test::download(c, *tickets);
    if (!first) return first.error();
    if (*first == 0) return mismatch("no put of the first lane had a ticket");
    return all_are(c, *tickets, kPuts * kWarpSize, "ticket",
                   [&](std::size_t i) { return *first + i / kWarpSize * kWarpSize; });
  });
}

struct CountInCrowd {
  std::uint64_t* sum;
  std::uint64_t adds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    std::uint64_t before = 0;
    std::uint64_t backward = 0;
    for (std::uint64_t i = 0; i < adds; ++i) {
      const std::uint64_t seen = pe.atomic_fetch_add(sum, 3, 0);
      backward += i != 0 && seen <= before;
      before = seen;
    }
    expect(pe, backward == 0);
  }
};

TEST(CrowdOfAtomics, CountsExactlyAndNeverBackwards) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    const auto shape = sized_for<LaunchShape>(c, {132, 256}, {8, 64}, {4, 32});
    const auto adds = sized_for<std::uint64_t>(c, 4, 4, 2);
    const std::uint64_t threads = std::uint64_t{shape.blocks} * shape.threads;
    auto sum = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!sum || !checks) return mismatch("allocate");
    if (auto ran = c.launch(CountInCrowd{*sum, adds, checks->expect()}, shape); !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(threads); !ok || c.my_pe() != 0) return ok;
    return test::is(c, *sum, 2 * threads * adds * 3, "sum");
  });
}

// How many WQEBBs the first queue to the other PE has taken.
Result<std::uint64_t> reserved_on_first_queue(Context& c) {
  const DeviceContext device = c.device_context();
  const auto view = test::peek(c, device.queues + (1 - c.my_pe()));
  if (!view) return view.error();
  const auto state = test::peek(c, view->state);
  if (!state) return state.error();
  return state->reserved;
}

struct WrapLoad {
  LaunchShape shape;
  std::uint64_t on_gpu;  // puts in all
};

void PrintTo(const WrapLoad& load, std::ostream* out) {
  *out << load.shape.blocks << "x" << load.shape.threads << " threads, " << load.on_gpu << " puts";
}

class Wrap : public testing::TestWithParam<WrapLoad> {};

// A ring of 64 slots goes round and round, and the 16-bit counters of WQEs, records and CQEs wrap
// again and again.
TEST_P(Wrap, IsNothingThatAnybodyNotices) {
  const WrapLoad load = GetParam();
  Options options = job_options();
  options.queue_depth = 64;
  options.queues_per_peer = 1;
  options.emulator_workers = 2;
  expect_job(2, in_turn(options), [&](Context& c) -> Result<void> {
    const std::uint64_t threads = std::uint64_t{load.shape.blocks} * load.shape.threads;
    const auto all = sized_for<std::uint64_t>(c, load.on_gpu, 140'000, 20'000);
    const std::uint64_t puts = all / threads + 1;
    auto words = c.allocate<std::uint64_t>(threads);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    Result<void> ran =
        c.launch(PutInCrowd<Lanes::together>{*words, puts, checks->expect()}, load.shape);
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(threads); !ok) return ok;
    const auto reserved = reserved_on_first_queue(c);
    if (!reserved) return reserved.error();
    if (*reserved < all) return test::same(*reserved, all, "WQEBBs that the queue took");
    return all_are(c, *words, threads, "word of thread",
                   [&](std::size_t i) { return last_value(i, 1 - c.my_pe(), puts); });
  });
}

INSTANTIATE_TEST_SUITE_P(Loads, Wrap,
                         testing::Values(WrapLoad{{1, 1}, 140'000}, WrapLoad{{1, 32}, 1'100'000},
                                         WrapLoad{{8, 64}, 1'100'000}));

struct FetchAroundTheRing {
  std::uint32_t* words;  // one of each thread, 0 at first
  std::uint32_t rounds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      wrong += pe.atomic_fetch_inc(words + me, 1 - pe.my_pe()) != i;
    }
    expect(pe, wrong == 0);
  }
};

// The ring of fetch slots goes round under more threads than it has slots.
TEST(WrapOfFetchSlots, GivesEveryThreadItsOwnResults) {
  Options options = job_options();
  options.queue_depth = 64;
  options.queues_per_peer = 1;
  options.fetch_slots = 32;
  options.emulator_workers = 2;
  expect_job(2, in_turn(options), [](Context& c) -> Result<void> {
    constexpr LaunchShape kShape{4, 64};
    const auto rounds = sized_for<std::uint32_t>(c, 300, 50, 10);
    auto words = c.allocate<std::uint32_t>(256);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    Result<void> ran = c.launch(FetchAroundTheRing{*words, rounds, checks->expect()}, kShape);
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(256); !ok) return ok;
    return all_are(c, *words, 256, "word of thread", [&](std::size_t) { return rounds; });
  });
}

}  // namespace
}  // namespace gdakit

// Direct peers: what PEs do to each other's memory without the NIC, and where they may not.
#include <vector>

#include "tests/device/by.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::acts;
using test::all_are;
using test::By;
using test::Checks;
using test::expect_job;
using test::fill;
using test::group_of;
using test::in_turn;
using test::is;
using test::job_options;
using test::mismatch;
using test::same;

Options with_transport(TransportChoice transport) {
  Options options = job_options();
  options.transport = transport;
  return options;
}

// Writes its number into the next PE's memory by a store of its own.
struct StoreToNext {
  int* slots;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().thread_index() != 0) return;
    int* const there = pe.ptr(slots + pe.my_pe(), (pe.my_pe() + 1) % pe.n_pes());
    expect(pe, there != nullptr);
    if (there != nullptr) pe.machine().store_weak(there, 100 + pe.my_pe());
    expect(pe, pe.barrier_all().ok());
  }
};

TEST(DirectPtr, IsWhereLoadsAndStoresReachThePeer) {
  expect_job(3, with_transport(TransportChoice::direct), [](Context& c) -> Result<void> {
    auto slots = c.allocate<int>(3);
    auto checks = Checks::make(c);
    if (!slots || !checks) return mismatch("allocate");
    auto ran = c.launch(StoreToNext{*slots, checks->expect()}, {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    if (auto held = checks->all_held(2); !held) return held;
    const int last = (c.my_pe() + 2) % 3;
    return is(c, *slots + last, 100 + last, "the word of the last PE");
  });
}

// `others`: whether there is an address for the other PEs.
struct AskForAddresses {
  int* word;
  bool others;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (int i = 0; i < pe.n_pes(); ++i) {
      if (i == pe.my_pe()) {
        expect(pe, pe.ptr(word, i) == word);
      } else {
        expect(pe, (pe.ptr(word, i) != nullptr) == others);
      }
    }
    int outside = 0;
    expect(pe, pe.ptr(&outside, pe.my_pe()) == nullptr);
    expect(pe, pe.ptr(word, -1) == nullptr && pe.ptr(word, pe.n_pes()) == nullptr);
    const HeapView& heap = pe.context().heap;
    auto* const end = reinterpret_cast<char*>(heap.chunks[heap.chunk_count - 1].end);
    expect(pe, pe.ptr(end, 0) == nullptr && pe.ptr(end, 1) == nullptr);
  }
};

Result<void> ask_for_addresses(Context& c, bool others) {
  auto word = c.allocate<int>(1);
  auto checks = Checks::make(c);
  if (!word || !checks) return mismatch("allocate");
  const AskForAddresses kernel{*word, others, checks->expect()};
  if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
  return checks->all_held(5);
}

TEST(DirectPtr, IsNullWhereThereIsNothing) {
  expect_job(2, in_turn(with_transport(TransportChoice::direct)),
             [](Context& c) { return ask_for_addresses(c, true); });
}

TEST(DirectPtr, OfOtherPesIsNullThroughTheNic) {
  expect_job(2, in_turn(with_transport(TransportChoice::nic)),
             [](Context& c) { return ask_for_addresses(c, false); });
}

// Some of everything.
struct DoAll {
  std::uint64_t* words;  // 6
  std::uint64_t* source;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int next = (pe.my_pe() + 1) % pe.n_pes();
    const auto me = static_cast<std::uint64_t>(pe.my_pe());
    auto& m = pe.machine();
    m.store_weak(source, 50 + me);
    expect(pe, pe.put(words, source, 1, next).ok());
    expect(pe, pe.iput(words + 1, source, 2, 1, 1, next).ok());
    expect(pe, pe.put_signal(words + 2, source, 1, words + 3, 1, SignalOp::add, next).ok());
    expect(pe, pe.wait_until(words + 3, Compare::eq, 1).ok());
    expect(pe, pe.atomic_fetch_add(words + 4, std::uint64_t{7}, next) == 0);
    expect(pe, pe.barrier_all().ok());
    expect(pe, pe.get_value(words + 4, next) == 7);
    expect(pe, pe.team(kTeamWorld).reduce(words + 5, source, 1, Sum{}).ok());
  }
};

TEST(Direct, NeedsNoNic) {
  expect_job(2, with_transport(TransportChoice::direct), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(6);
    auto source = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!words || !source || !checks) return mismatch("allocate");
    const DoAll kernel{*words, *source, checks->expect()};
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
    if (auto held = checks->all_held(8); !held) return held;
    const std::uint64_t from = 50 + static_cast<std::uint64_t>(1 - c.my_pe());
    const std::uint64_t expected[] = {from, from, from, 1, 7, 101};
    auto right = all_are(c, *words, 6, "word", [&](std::size_t i) { return expected[i]; });
    if (!right) return right;
    return same(c.nic_counters().wqes, std::uint64_t{0}, "WQEs");
  });
}

// Each of two PEs puts a word to the other one and looks, behind quiet, whether its own has come.
struct PutAndLook {
  static constexpr std::size_t kRounds = 2000;
  static constexpr std::size_t kApart = 16;  // words, so that no two share a cache line
  std::uint64_t* words;                      // kApart of each round
  std::uint64_t* seen;                       // one of each round
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int other = 1 - pe.my_pe();
    expect(pe, pe.sync_all().ok());
    for (std::size_t i = 0; i < kRounds; ++i) {
      std::uint64_t* const word = words + i * kApart;
      pe.put_value(word, 1, other);
      pe.quiet();
      m.store_weak(seen + i, pe.get_value(word, pe.my_pe()));
      // Both go on together, as fast as they can; who has no core of its own gives way.
      for (int looks = 0; pe.get_value(word, pe.my_pe()) == 0; ++looks) {
        if (looks > 1000) m.spin(Site::user);
      }
    }
    expect(pe, pe.barrier_all().ok());
    bool each = true;
    for (std::size_t i = 0; i < kRounds; ++i) {
      each = each && m.load_weak(seen + i) + pe.get_value(seen + i, other) != 0;
    }
    expect(pe, each);
  }
};

TEST(Direct, QuietLetsOneOfTwoPesSeeTheOther) {
  expect_job(2, with_transport(TransportChoice::direct), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(PutAndLook::kRounds * PutAndLook::kApart);
    auto seen = c.allocate<std::uint64_t>(PutAndLook::kRounds);
    auto checks = Checks::make(c);
    if (!words || !seen || !checks) return mismatch("allocate");
    const PutAndLook kernel{*words, *seen, checks->expect()};
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
    return checks->all_held(3);
  });
}

// What a group copies to the next PE, and gets back from there.
template <By kGroup>
struct ThereAndBack {
  unsigned char* there;
  const unsigned char* from;
  unsigned char* back;
  std::size_t bytes;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kGroup>(pe)) return;
    auto group = group_of<kGroup>(pe);
    const int next = (pe.my_pe() + 1) % pe.n_pes();
    expect(pe, group.put(there, from, bytes, next).ok());
    expect(pe, group.get(back, there, bytes, next).ok());
    expect(pe, group.barrier_all().ok());
  }
};

// The bytes before and behind the transfer stay as they were.
template <By kGroup>
Result<void> copy_every_way(Context& c) {
  constexpr std::size_t kRoom = 1200;
  auto there = c.allocate<unsigned char>(kRoom);
  auto from = c.allocate<unsigned char>(kRoom);
  auto back = c.allocate<unsigned char>(kRoom);
  if (!there || !from || !back) return mismatch("allocate");
  const auto pattern = [](std::size_t i) { return 1 + i * 7 % 251; };
  if (auto filled = fill(c, *from, kRoom, pattern); !filled) return filled;
  for (const std::size_t bytes : {1, 8, 15, 16, 17, 40, 256, 1111}) {
    for (const std::size_t shift : {0, 3, 8}) {  // of the source against the destination
      auto checks = Checks::make(c);
      if (!checks) return checks.error();
      const auto nothing = [](std::size_t) { return 0; };
      if (auto filled = fill(c, *there, kRoom, nothing); !filled) return filled;
      if (auto filled = fill(c, *back, kRoom, nothing); !filled) return filled;
      if (auto met = c.barrier(); !met) return met;
      const ThereAndBack<kGroup> kernel{*there + 5, *from + 5 + shift, *back + 16, bytes,
                                        checks->expect()};
      if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 40}); !ran) return ran;
      const auto copied = [&](std::size_t begin) {
        return [=](std::size_t i) {
          return i < begin || i >= begin + bytes ? 0 : pattern(5 + shift + i - begin);
        };
      };
      const std::string what =
          std::to_string(bytes) + " bytes, shift " + std::to_string(shift) + ", byte";
      if (auto right = all_are(c, *there, kRoom, what + " put", copied(5)); !right) return right;
      if (auto right = all_are(c, *back, kRoom, what + " got", copied(16)); !right) return right;
      if (auto met = c.barrier(); !met) return met;
    }
  }
  return {};
}

TEST(DirectCopy, ByAThreadMovesWhatItShallAndNoMore) {
  expect_job(2, with_transport(TransportChoice::direct), copy_every_way<By::thread>);
}
TEST(DirectCopy, ByAWarpMovesWhatItShallAndNoMore) {
  expect_job(2, with_transport(TransportChoice::direct), copy_every_way<By::warp>);
}
TEST(DirectCopy, ByABlockMovesWhatItShallAndNoMore) {
  expect_job(2, with_transport(TransportChoice::direct), copy_every_way<By::block>);
}

TEST(Direct, ReachesWhatTheHeapHasGrownBy) {
  Options options = with_transport(TransportChoice::direct);
  options.teams = 4;
  options.symmetric_size = 2 << 20;
  options.heap_chunk = 2 << 20;
  options.heap_limit = 16 << 20;
  expect_job(2, options, [](Context& c) -> Result<void> {
    const std::uint32_t chunks = c.device_context().heap.chunk_count;
    constexpr std::size_t kPart = std::size_t{5} << 19;  // longer than a chunk
    auto bytes = c.allocate<unsigned char>(3 * kPart);
    auto checks = Checks::make(c);
    if (!bytes || !checks) return mismatch("allocate");
    if (c.device_context().heap.chunk_count < chunks + 2) return mismatch("the heap has not grown");
    const auto pattern = [](std::size_t i) { return 1 + i % 253; };
    if (auto filled = fill(c, *bytes, kPart, pattern); !filled) return filled;
    if (auto met = c.barrier(); !met) return met;
    const ThereAndBack<By::block> kernel{*bytes + kPart, *bytes, *bytes + 2 * kPart, kPart,
                                         checks->expect()};
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 64}); !ran) return ran;
    for (const std::size_t part : {std::size_t{1}, std::size_t{2}}) {
      auto right = all_are(c, *bytes + part * kPart, kPart, "byte", pattern);
      if (!right) return right;
    }
    return {};
  });
}

// Stores to PE 0 until the host has seen enough of it.
struct StoreOn {
  std::uint64_t* word;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint64_t i = 0; i < 300'000; ++i) pe.put_value(word, i, 0);
  }
};

// What PE 1 stores to stays where it is.
TEST(Direct, SurvivesAPeerThatGivesUp) {
  const auto give_up = [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() == 0) return mismatch("PE 0 has had enough");
    return c.launch(StoreOn{*word}, {.blocks = 1, .threads = 32});
  };
  const Result<void> done = run_in_process(2, with_transport(TransportChoice::direct), give_up);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("PE 0 has had enough"), std::string::npos)
      << done.error().message();
}

// PE 2 of three is no direct peer of the others.
struct TwoOfThree {
  test::LimitedProvider provider{[](int rank) {
    BackendLimits limits;
    limits.direct_peers = rank != 2;
    return limits;
  }};
};

// Every thread of every PE adds to a word of each PE, and signals there.
struct AddEverywhere {
  std::uint64_t* sum;
  std::uint32_t* small;
  std::uint64_t* signals;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (int to = 0; to < pe.n_pes(); ++to) {
      for (int i = 0; i < 8; ++i) {
        pe.atomic_add(sum, std::uint64_t{1}, to);
        pe.atomic_fetch_add(small, 2u, to);
        pe.signal(signals, 1, SignalOp::add, to);
      }
    }
    expect(pe, pe.block().barrier_all().ok());
  }
};

TEST(DirectMixed, SumsOfAllPesAreExact) {
  TwoOfThree job;
  expect_job(3, with_transport(TransportChoice::direct), job.provider,
             [](Context& c) -> Result<void> {
               auto sum = c.allocate<std::uint64_t>(1);
               auto small = c.allocate<std::uint32_t>(1);
               auto signals = c.allocate<std::uint64_t>(1);
               auto checks = Checks::make(c);
               if (!sum || !small || !signals || !checks) return mismatch("allocate");
               constexpr std::uint32_t kThreads = 64;
               const AddEverywhere kernel{*sum, *small, *signals, checks->expect()};
               if (auto ran = c.launch(kernel, {.blocks = 1, .threads = kThreads}); !ran)
                 return ran;
               if (auto held = checks->all_held(kThreads); !held) return held;
               constexpr std::uint32_t kAll = 3 * 8 * kThreads;
               if (auto right = is(c, *sum, kAll, "sum"); !right) return right;
               if (auto right = is(c, *small, 2 * kAll, "4-byte sum"); !right) return right;
               return is(c, *signals, kAll, "signals");
             });
}

// Where a handle has a queue to a direct peer for its atomics, and remembers both sides of a put,
// the local one from a put to another PE, puts still go directly.
struct PutBesideAtomics {
  std::uint64_t* words;  // 2
  std::uint64_t* sum;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    for (int i = 0; i < 3; ++i) {
      expect(pe, pe.put_async(words, words + 1, 1, 2).index != 0);
      expect(pe, pe.put_async(words, words + 1, 1, 1).index == 0);
      expect(pe, pe.atomic_fetch_add(sum, std::uint64_t{1}, 1) == static_cast<std::uint64_t>(i));
      expect(pe, pe.put_async(words, words + 1, 1, 1).index == 0);
    }
    expect(pe, pe.quiet().ok());
  }
};

TEST(DirectMixed, PutsGoDirectlyBesideAtomicsThroughTheNic) {
  TwoOfThree job;
  expect_job(3, with_transport(TransportChoice::direct), job.provider,
             [](Context& c) -> Result<void> {
               auto words = c.allocate<std::uint64_t>(3);
               auto checks = Checks::make(c);
               if (!words || !checks) return mismatch("allocate");
               const PutBesideAtomics kernel{*words, *words + 2, checks->expect()};
               if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
               return checks->all_held(c.my_pe() == 0 ? 13 : 0);
             });
}

// PE 0 puts and signals to PE 1: data by stores, signals through the NIC; behind an atomic and a
// fence a put that tells of it.
struct InTurn {
  std::uint64_t* data;
  std::uint64_t* source;
  std::uint64_t* flags;  // 2
  std::uint64_t* sum;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (std::uint64_t i = 1; i <= 20; ++i) {
        m.store_weak(source, i);
        expect(pe, pe.put_signal(data, source, 1, flags, i, SignalOp::set, 1).ok());
        pe.atomic_add(sum, std::uint64_t{1}, 1);
        expect(pe, pe.fence().ok());
        expect(pe, pe.put_value(flags + 1, i, 1).ok());
        expect(pe, pe.wait_until(flags, Compare::eq, i).ok());
      }
    } else if (pe.my_pe() == 1) {
      for (std::uint64_t i = 1; i <= 20; ++i) {
        expect(pe, pe.wait_until(flags, Compare::eq, i).ok());
        expect(pe, m.load(order::RelaxedSystem{}, data) == i);
        expect(pe, pe.wait_until(flags + 1, Compare::eq, i).ok());
        expect(pe, m.load(order::RelaxedSystem{}, sum) == i);
        expect(pe, pe.signal(flags, i, SignalOp::set, 0).ok());
      }
    }
  }
};

TEST(DirectMixed, FencesAndSignalsOrderBothTransports) {
  TwoOfThree job;
  expect_job(
      3, with_transport(TransportChoice::direct), job.provider, [](Context& c) -> Result<void> {
        auto words = c.allocate<std::uint64_t>(5);
        auto checks = Checks::make(c);
        if (!words || !checks) return mismatch("allocate");
        const InTurn kernel{*words, *words + 1, *words + 2, *words + 4, checks->expect()};
        if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
        if (auto held = checks->all_held(c.my_pe() == 0 ? 80 : c.my_pe() == 1 ? 100 : 0); !held) {
          return held;
        }
        return c.barrier();
      });
}

}  // namespace
}  // namespace gdakit

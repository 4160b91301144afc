// Put and get between PEs through the NIC.
#include <vector>

#include "tests/device/by.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::actors;
using test::acts;
using test::all_are;
using test::By;
using test::Checks;
using test::expect_job;
using test::fill;
using test::group_of;
using test::in_turn;
using test::job_options;
using test::mismatch;
using test::same;

// Kernels are small and many, by template arguments: nvcc takes ten times as long for a kernel of
// six transfers as for six kernels of one.
enum class How { blocking, nbi, ticket };

// What the kernels below move: `count` elements, to or from PE `pe`.
struct Transfer {
  std::uint32_t* to;
  const std::uint32_t* from;
  std::size_t count;
  int pe;
};

template <By kGroup, How kHow>
struct PutBy {
  Transfer t;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kGroup>(pe)) return;
    auto group = group_of<kGroup>(pe);
    if constexpr (kHow == How::blocking) {
      expect(pe, group.put(t.to, t.from, t.count, t.pe).ok());
    } else if constexpr (kHow == How::ticket) {
      expect(pe, group.wait(group.put_async(t.to, t.from, t.count, t.pe)).ok());
    } else {
      const Status posted = group.put_nbi(t.to, t.from, t.count, t.pe);
      expect(pe, group.quiet().ok() && posted.ok());
    }
  }
};

template <By kGroup, How kHow>
struct GetBy {
  Transfer t;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kGroup>(pe)) return;
    auto group = group_of<kGroup>(pe);
    if constexpr (kHow == How::blocking) {
      expect(pe, group.get(t.to, t.from, t.count, t.pe).ok());
    } else if constexpr (kHow == How::ticket) {
      expect(pe, group.wait(group.get_async(t.to, t.from, t.count, t.pe)).ok());
    } else {
      const Status posted = group.get_nbi(t.to, t.from, t.count, t.pe);
      expect(pe, group.quiet().ok() && posted.ok());
    }
  }
};

template <By kGroup>
struct MeetBy {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (acts<kGroup>(pe)) expect(pe, group_of<kGroup>(pe).barrier_all().ok());
  }
};

template <By kBy, How kWay>
struct Way {
  static constexpr By kGroup = kBy;
  static constexpr How kHow = kWay;
};

template <class T>
class RmaBy : public testing::Test {};

struct WayNames {
  template <class W>
  static std::string GetName(int) {
    const char* const groups[] = {"Thread", "Warp", "Block"};
    const char* const hows[] = {"Blocking", "Nbi", "Ticket"};
    return std::string(groups[static_cast<int>(W::kGroup)]) + hows[static_cast<int>(W::kHow)];
  }
};
using Ways = testing::Types<
    Way<By::thread, How::blocking>, Way<By::thread, How::nbi>, Way<By::thread, How::ticket>,
    Way<By::warp, How::blocking>, Way<By::warp, How::nbi>, Way<By::warp, How::ticket>,
    Way<By::block, How::blocking>, Way<By::block, How::nbi>, Way<By::block, How::ticket>>;
TYPED_TEST_SUITE(RmaBy, Ways, WayNames);

// Puts a pattern to the right neighbour and, when all have, gets it back from there.
template <class W>
Result<void> move_there_and_back(Context& c, std::size_t count) {
  constexpr LaunchShape kShape{1, 48};
  auto target = c.allocate<std::uint32_t>(count);
  auto source = c.allocate<std::uint32_t>(count);
  auto back = c.allocate<std::uint32_t>(count);
  auto checks = Checks::make(c);
  if (!target || !source || !back || !checks) return mismatch("allocate");
  const auto pattern_of = [](int pe) {
    return [pe](std::size_t i) { return 1000 * static_cast<std::size_t>(pe + 1) + i; };
  };
  if (auto ok = fill(c, *source, count, pattern_of(c.my_pe())); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  const int right = (c.my_pe() + 1) % c.n_pes();
  const int left = (c.my_pe() + c.n_pes() - 1) % c.n_pes();
  const Transfer there{*target, *source, count, right};
  const Transfer back_again{*back, *target, count, right};
  const auto launch = [&](const auto& kernel) { return c.launch(kernel, kShape); };
  if (auto ok = launch(PutBy<W::kGroup, W::kHow>{there, checks->expect()}); !ok) return ok;
  if (auto ok = launch(MeetBy<W::kGroup>{checks->expect()}); !ok) return ok;
  if (auto ok = launch(GetBy<W::kGroup, W::kHow>{back_again, checks->expect()}); !ok) return ok;
  if (auto ok = launch(MeetBy<W::kGroup>{checks->expect()}); !ok) return ok;
  if (auto ok = checks->all_held(4 * actors(W::kGroup, kShape.threads)); !ok) return ok;
  if (auto ok = all_are(c, *target, count, "put, element", pattern_of(left)); !ok) return ok;
  return all_are(c, *back, count, "get, element", pattern_of(c.my_pe()));
}

TYPED_TEST(RmaBy, MovesEveryByteThereAndBack) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    for (const std::size_t count : {1u, 7u, 1000u, 70'000u}) {
      if (auto ok = move_there_and_back<TypeParam>(c, count); !ok) return ok;
    }
    return {};
  });
}

template <By kGroup>
struct PutSkewed {
  unsigned char* target;
  const unsigned char* source;
  std::size_t skew;
  std::size_t bytes;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kGroup>(pe)) return;
    auto group = group_of<kGroup>(pe);
    expect(pe, group.put_nbi(target + skew + 1, source + skew, bytes, 1 - pe.my_pe()).ok());
    expect(pe, group.barrier_all().ok());
  }
};

// Puts all but the ends of `source` to the other PE, one byte further on; then looks at `target`,
// the bytes before and behind the transfer included.
template <By kGroup>
Result<void> put_skewed(Context& c, unsigned char* target, const unsigned char* source,
                        std::size_t size, std::size_t skew) {
  const std::size_t bytes = size - 2 * skew - 1;
  if (auto ok = fill(c, target, size, [](std::size_t) { return 0; }); !ok) return ok;
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  if (auto met = c.barrier(); !met) return met;
  Result<void> ran = c.launch(PutSkewed<kGroup>{target, source, skew, bytes, checks->expect()},
                              {.blocks = 1, .threads = 64});
  if (!ran) return ran;
  if (auto ok = checks->all_held(2 * actors(kGroup, 64)); !ok) return ok;
  const auto other = static_cast<std::size_t>(1 - c.my_pe());
  return all_are(
      c, target + skew, bytes + 2, "byte from the one before the transfer on",
      [&](std::size_t i) { return i == 0 || i == bytes + 1 ? 0 : (i - 1 + skew) * 31 + other; });
}

// Transfers that begin and end at every side of a chunk border, on both sides, and are longer than
// the largest message.
TEST(Rma, CutsAtChunkBordersAndTheLargestMessage) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  BackendLimits limits;
  limits.max_message_bytes = 10'000;
  test::LimitedProvider provider(limits);
  expect_job(2, options, provider, [&](Context& c) -> Result<void> {
    auto chunk = test::first_chunk_bytes(c);
    if (!chunk) return chunk.error();
    const std::size_t size = 4 * *chunk + *chunk / 2 + 5088;
    auto source = c.allocate<unsigned char>(size);
    auto target = c.allocate<unsigned char>(size + 1);  // the byte behind a transfer is looked at
    if (!source || !target) return mismatch("allocate");
    const auto me = static_cast<std::size_t>(c.my_pe());
    if (auto ok = fill(c, *source, size, [me](std::size_t i) { return i * 31 + me; }); !ok) {
      return ok;
    }
    for (const std::size_t skew :
         {std::size_t{0}, std::size_t{1}, std::size_t{4095}, *chunk - 256}) {
      if (auto ok = put_skewed<By::thread>(c, *target, *source, size, skew); !ok) return ok;
      if (auto ok = put_skewed<By::warp>(c, *target, *source, size, skew); !ok) return ok;
      if (auto ok = put_skewed<By::block>(c, *target, *source, size, skew); !ok) return ok;
    }
    return {};
  });
}

// The PE that thread `i` of the whole grid puts to.
GDAKIT_HOST_DEVICE int scattered(std::size_t i, int n_pes) {
  return static_cast<int>((i * 7 + i / 5) % static_cast<std::size_t>(n_pes));
}
GDAKIT_HOST_DEVICE std::uint64_t scattered_value(std::size_t i, std::size_t pe) {
  return 1'000'000 * (pe + 1) + i;
}

struct Scatter {
  std::uint64_t* target;  // [pe][thread]
  std::uint64_t* source;  // [thread]

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
    const std::size_t count = m.grid_blocks() * m.block_threads();
    const auto row = static_cast<std::size_t>(pe.my_pe());
    source[me] = scattered_value(me, row);
    const int to = scattered(me, pe.n_pes());
    pe.put_nbi(target + row * count + me, source + me, 1, to);
    if (m.thread_index() % 3 == 0) {  // a part of the warp goes on alone
      pe.put_value(target + row * count + me, source[me], to);
    }
    pe.quiet();
  }
};

// All lanes of all warps of many blocks put one element each, to different PEs.
TEST(Rma, PostsTogetherWhateverPeTheLanesChoose) {
  constexpr unsigned kBlocks = 8;
  constexpr unsigned kThreads = 96;
  expect_job(4, in_turn(job_options()), [](Context& c) -> Result<void> {
    const std::size_t count = kBlocks * kThreads;
    const auto n = static_cast<std::size_t>(c.n_pes());
    auto target = c.allocate<std::uint64_t>(count * n);
    auto source = c.allocate<std::uint64_t>(count);
    if (!target || !source) return mismatch("allocate");
    Result<void> ran =
        c.launch(Scatter{*target, *source}, {.blocks = kBlocks, .threads = kThreads});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *target, count * n, "element", [&](std::size_t at) -> std::uint64_t {
      const std::size_t i = at % count;
      return scattered(i, c.n_pes()) == c.my_pe() ? scattered_value(i, at / count) : 0;
    });
  });
}

template <class T>
struct PutGetValue {
  T* word;
  T value;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int to = 1 - pe.my_pe();
    expect(pe, pe.put_value(word, value, to).ok());
    Status status{StatusCode::stalled};
    expect(pe, pe.get_value(word, to, &status) == value);
    expect(pe, status.ok());
  }
};

// Puts `value` to the middle one of three Ts of the other PE and gets it from there.
template <class T>
Result<void> put_and_get_value(Context& c, T value) {
  auto words = c.allocate<T>(3);
  auto checks = Checks::make(c);
  if (!words || !checks) return mismatch("allocate");
  Result<void> ran =
      c.launch(PutGetValue<T>{*words + 1, value, checks->expect()}, {.blocks = 1, .threads = 1});
  if (!ran) return ran;
  if (auto ok = checks->all_held(3); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  return all_are(c, *words, 3, "the value and its neighbours, number",
                 [&](std::size_t i) { return i == 1 ? value : T{}; });
}

TEST(Rma, PutsAndGetsValuesOfEverySize) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    if (auto ok = put_and_get_value(c, std::uint8_t{0x81}); !ok) return ok;
    if (auto ok = put_and_get_value(c, std::uint16_t{0x8182}); !ok) return ok;
    if (auto ok = put_and_get_value(c, -1.5f); !ok) return ok;
    if (auto ok = put_and_get_value(c, 2.25); !ok) return ok;
    return put_and_get_value(c, -7L);
  });
}

struct FetchTogether {
  const std::uint32_t* table;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const unsigned me = m.block_index() * m.block_threads() + m.thread_index();
    const int to = 1 - pe.my_pe();
    for (int i = 0; i < 5; ++i) {
      const std::uint32_t got = pe.get_value(table + me, to);
      expect(pe, got == me * 3 + static_cast<unsigned>(to));
    }
  }
};

// More lanes fetch at once than there are fetch slots.
TEST(Rma, SharesTheFetchSlotsAmongManyThreads) {
  Options options = job_options();
  options.fetch_slots = 32;
  options.emulator_workers = 2;
  expect_job(2, in_turn(options), [](Context& c) -> Result<void> {
    auto table = c.allocate<std::uint32_t>(512);
    auto checks = Checks::make(c);
    if (!table || !checks) return mismatch("allocate");
    const auto me = static_cast<std::size_t>(c.my_pe());
    if (auto ok = fill(c, *table, 512, [me](std::size_t i) { return i * 3 + me; }); !ok) return ok;
    if (auto met = c.barrier(); !met) return met;
    Result<void> ran =
        c.launch(FetchTogether{*table, checks->expect()}, {.blocks = 4, .threads = 128});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return checks->all_held(5 * 512);
  });
}

struct PutFromBuffers {
  int* target;
  const int* registered;
  const int* stranger;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.put_nbi(target, registered, 64, 1 - pe.my_pe()).ok());
    expect(pe, pe.barrier_all().ok());
    const Status refused = pe.put(target, stranger, 64, 1 - pe.my_pe());
    expect(pe, refused.code == StatusCode::invalid_address);
  }
};

TEST(Rma, UsesRegisteredBuffersAndRefusesOthers) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto target = c.allocate<int>(64);
    auto checks = Checks::make(c);
    if (!target || !checks) return mismatch("allocate");
    std::vector<int> registered(64, 11 + c.my_pe());
    std::vector<int> stranger(64, -1);
    if (auto done = c.register_buffer(registered.data(), 64 * sizeof(int)); !done) return done;
    Result<void> ran =
        c.launch(PutFromBuffers{*target, registered.data(), stranger.data(), checks->expect()},
                 {.blocks = 1, .threads = 1});
    if (ran) return mismatch("launch did not report the bad address");
    if (ran.error().message().find("neither in the symmetric heap nor registered") ==
        std::string::npos) {
      return ran;
    }
    if (auto ok = checks->all_held(3); !ok) return ok;
    c.clear_reports();
    if (auto ok = test::is(c, *target + 63, 11 + 1 - c.my_pe(), "target"); !ok) return ok;
    if (auto done = c.unregister_buffer(registered.data()); !done) return done;
    return c.unregister_buffer(registered.data()) ? mismatch("unregistered twice") : Result<void>();
  });
}

struct BadArguments {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto bad = StatusCode::invalid_argument;
    expect(pe, pe.put_value(word, 1, 2).code == bad);
    expect(pe, pe.put_value(word, 1, -1).code == bad);
    expect(pe, pe.put(word, word, 1, 7).code == bad);
    expect(pe, pe.atomic_add(word, 1, 2).code == bad);
    expect(pe, pe.on_queue(99).put_value(word, 1, 0).code == bad);
    expect(pe, pe.exclusively_on(0).put_value(word, 1, 0).code == bad);  // it is shared
    auto* unaligned = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(word) + 4);
    expect(pe, pe.atomic_add(unaligned, 1, 0).code == bad);
  }
};

TEST(Rma, RefusesPesAndQueuesThatDoNotExist) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    Result<void> ran = c.launch(BadArguments{*word, checks->expect()}, {.blocks = 1, .threads = 1});
    if (ran) return mismatch("launch did not report the bad arguments");
    return checks->all_held(7);
  });
}

struct ReadThreeWays {
  const std::uint64_t* words;
  std::uint64_t* copy;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int to = 1 - pe.my_pe();
    expect(pe, pe.get_nbi(copy, words, 64, to).ok());
    expect(pe, pe.quiet().ok());
    expect(pe, pe.get_value(words + 5, to) == 100u * static_cast<unsigned>(to + 1) + 5);
    expect(pe, pe.atomic_fetch(words + 6, to) == 100u * static_cast<unsigned>(to + 1) + 6);
  }
};

Result<void> read_three_ways(Context& c, std::uint64_t wqes) {
  auto words = c.allocate<std::uint64_t>(64);
  auto copy = c.allocate<std::uint64_t>(64);
  auto checks = Checks::make(c);
  if (!words || !copy || !checks) return mismatch("allocate");
  const auto words_of = [](int pe) {
    return [pe](std::size_t i) { return 100u * static_cast<unsigned>(pe + 1) + i; };
  };
  if (auto ok = fill(c, *words, 64, words_of(c.my_pe())); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  const std::uint64_t before = c.nic_counters().wqes;
  Result<void> ran =
      c.launch(ReadThreeWays{*words, *copy, checks->expect()}, {.blocks = 1, .threads = 1});
  if (!ran) return ran;
  if (auto ok = checks->all_held(4); !ok) return ok;
  if (auto ok = all_are(c, *copy, 64, "get, word", words_of(1 - c.my_pe())); !ok) return ok;
  return same(c.nic_counters().wqes - before, wqes, "WQEs");  // the peer's are not counted here
}

// A device that does not order inbound writes by itself: reads are followed by a DUMP.
TEST(Rma, FlushesReadsWhereTheDeviceAsksForIt) {
  BackendLimits limits;
  limits.needs_cst = true;
  test::LimitedProvider provider(limits);
  Options options = job_options();
  options.transport = TransportChoice::nic;
  // READ and DUMP of each of the three; of DC a NOP stands beside the DUMP.
  const std::uint64_t wqes = options.queue_type == QueueType::dc ? 3 * 3 : 3 * 2;
  expect_job(2, in_turn(options), provider,
             [wqes](Context& c) { return read_three_ways(c, wqes); });
}

}  // namespace
}  // namespace gdakit

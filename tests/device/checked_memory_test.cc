// GDAKIT_CHECK_MEMORY: overruns and uses after free, by operations and by plain stores.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;
using testing::AllOf;
using testing::HasSubstr;

Options checked_options(TransportChoice transport = TransportChoice::nic) {
  Options options = job_options();
  options.check_memory = true;
  options.transport = transport;
  return options;
}

// By a number, so that one kernel has them all.
enum Misuse {
  put_over_the_end,
  put_from_over_the_end,
  put_before_the_beginning,
  put_by_warp,
  get_over_the_end,
  get_to_over_the_end,
  value_behind,
  value_from_behind,
  strided_over_the_end,
  strided_from_over_the_end,
  data_over_the_end,
  signal_behind_data,
  signal_behind,
  add_behind,
  fetch_behind,
  fetch_to_behind,
  wait_behind,
  test_behind,
  read_signal_behind,
  broadcast_over_the_end,
  put_to_freed,
  get_from_freed,
  add_to_freed,
  wait_in_freed,
  misuses,
};

struct Objects {
  int* ints;             // 10
  std::uint64_t* words;  // 4
  std::uint64_t* freed;  // 8 once
};

struct Misused {
  Objects at;
  int which;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const bool acts = pe.machine().block_index() == 1 && pe.machine().warp() == 1;
    if (acts && which == put_by_warp) pe.warp().put(at.ints + 9, at.ints, 2, 1);
    if (!acts || pe.machine().lane() != 5) return;
    int one = 0;
    switch (which) {
      case put_over_the_end: pe.put(at.ints + 8, at.ints, 4, 1); break;
      case put_from_over_the_end: pe.put(at.ints, at.ints + 8, 4, 1); break;
      case put_before_the_beginning: pe.put(at.ints - 1, at.ints, 4, 1); break;
      case get_over_the_end: pe.get(at.ints, at.ints + 8, 4, 1); break;
      case get_to_over_the_end: pe.get(at.ints + 8, at.ints, 4, 1); break;
      case value_behind: pe.put_value(at.ints + 10, 7, 1); break;
      case value_from_behind: one = pe.get_value(at.ints + 10, 1); break;
      case strided_over_the_end: pe.iput(at.ints, at.ints, 4, 1, 4, 1); break;
      case strided_from_over_the_end: pe.iput(at.ints, at.ints, 1, 4, 4, 1); break;
      case data_over_the_end:
        pe.put_signal(at.ints + 8, at.ints, 4, at.words, 1, SignalOp::set, 1);
        break;
      case signal_behind_data:
        pe.put_signal(at.ints, at.ints + 5, 4, at.words + 4, 1, SignalOp::set, 1);
        break;
      case signal_behind: pe.signal(at.words + 4, 1, SignalOp::add, 1); break;
      case add_behind: pe.atomic_add(at.words + 4, std::uint64_t{1}, 1); break;
      case fetch_behind: pe.atomic_fetch_add(at.words + 4, std::uint64_t{1}, 1); break;
      case fetch_to_behind: pe.atomic_fetch_inc_nbi(at.words + 4, at.words, 1); break;
      case wait_behind: pe.wait_until(at.words + 4, Compare::ne, 0u); break;
      case test_behind: pe.test(at.words + 4, Compare::ne, 0u); break;
      case read_signal_behind: pe.signal_fetch(at.words + 4); break;
      case broadcast_over_the_end: pe.team(kTeamWorld).broadcast(at.ints + 8, at.ints, 4, 0); break;
      case put_to_freed: pe.put(at.freed, at.words, 2, 1); break;
      case get_from_freed: pe.get(at.words, at.freed, 2, 1); break;
      case add_to_freed: pe.atomic_add(at.freed, std::uint64_t{1}, 1); break;
      case wait_in_freed: pe.wait_until(at.freed, Compare::ne, 0u); break;
      default: break;
    }
    static_cast<void>(one);
  }
};

// What PE 0 of two says of each misuse, or of those that are asked for.
std::vector<std::string> reports(const Options& options, const std::vector<int>& asked = {}) {
  std::vector<std::string> all(misuses);
  expect_job(2, options, [&](Context& c) -> Result<void> {
    auto ints = c.allocate<int>(10, "ints");
    auto words = c.allocate<std::uint64_t>(4, "words");
    auto freed = c.allocate<std::uint64_t>(8, "old");
    if (!ints || !words || !freed) return mismatch("allocate");
    if (auto done = c.free(*freed); !done) return done;
    for (int which = 0; c.my_pe() == 0 && which < misuses; ++which) {
      if (!asked.empty() && std::ranges::find(asked, which) == asked.end()) continue;
      const Misused kernel{{*ints, *words, *freed}, which};
      const auto ran = c.launch(kernel, {.blocks = 2, .threads = 64});
      all[static_cast<std::size_t>(which)] = ran ? "nothing" : ran.error().message();
      c.clear_reports();
    }
    return c.barrier();
  });
  return all;
}

void expect_reports(const Options& options) {
  const std::vector<std::string> said = reports(options);
  const auto expect = [&](Misuse which, const std::string& call, const std::string& problem) {
    EXPECT_THAT(said[which], AllOf(HasSubstr("PE 0 called " + call), HasSubstr("(block 1, thread "),
                                   HasSubstr(problem)))
        << "misuse " << which;
  };
  const std::string over = " begin at 'ints' (40 bytes) + 32 and reach 8 bytes over its end";
  const std::string behind = " lie right behind 'words' (32 bytes)";
  expect(put_over_the_end, "put", "thread 37, peer PE 1): 16 bytes at address 0x");
  expect(put_over_the_end, "put", over);
  expect(put_from_over_the_end, "put", over);
  expect(put_before_the_beginning, "put", "bytes behind gdakit's teams");
  expect(put_by_warp, "put", " begin at 'ints' (40 bytes) + 36 and reach 4 bytes over its end");
  expect(get_over_the_end, "get", over);
  expect(get_to_over_the_end, "get", over);
  expect(value_behind, "put", " lie right behind 'ints' (40 bytes)");
  expect(value_from_behind, "get", " lie right behind 'ints' (40 bytes)");
  expect(strided_over_the_end, "put", "elements");
  expect(strided_from_over_the_end, "put", "elements");
  expect(data_over_the_end, "put_signal", over);
  expect(signal_behind_data, "", behind);
  expect(signal_behind, "", behind);
  expect(add_behind, "an atomic", behind);
  expect(fetch_behind, "an atomic", behind);
  expect(fetch_to_behind, "an atomic", behind);
  expect(wait_behind, "wait_until", behind);
  expect(test_behind, "wait_until", behind);
  expect(read_signal_behind, "wait_until", behind);
  expect(broadcast_over_the_end, "a collective", over);
  const std::string freed = " lie in 'old' (64 bytes, freed)";
  expect(put_to_freed, "put", freed);
  expect(get_from_freed, "get", freed);
  expect(add_to_freed, "an atomic", freed);
  expect(wait_in_freed, "wait_until", freed);
}

TEST(CheckedMemory, OperationsBeyondAnObjectOrAfterItsFreeAreNamed) {
  expect_reports(checked_options());
}
TEST(CheckedMemory, OperationsByLoadsAndStoresAreNamedToo) {
  expect_reports(checked_options(TransportChoice::direct));
}
TEST(CheckedMemory, OperationsThatAHostThreadPostsAreNamedToo) {
  Options options = checked_options();
  options.nic_handler = NicHandler::commands;
  expect_reports(options);
}

TEST(CheckedMemory, WithoutItNeighboursAndFreedMemoryAreTouchedInSilence) {
  Options options = job_options();
  options.check_memory = false;
  const std::vector<std::string> said = reports(options, {put_over_the_end, put_to_freed});
  EXPECT_EQ(said[put_over_the_end], "nothing");
  EXPECT_EQ(said[put_to_freed], "nothing");
}

// An object that lies in several chunks is one object.
constexpr std::size_t kFirstChunk = 128 << 10;
struct Loose {
  std::uint16_t parts[4];  // which may lie across a border
};
struct AcrossChunks {
  std::uint64_t* to;
  std::uint64_t* from;
  std::size_t count;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int next = 1 - pe.my_pe();
    auto* const cut = reinterpret_cast<Loose*>(pe.context().heap.base + kFirstChunk - 2);
    pe.put_value(cut, Loose{{1, 2, 3, 4}}, next);
    pe.quiet();
    const Loose got = pe.get_value(cut, next);
    pe.put(to, from, count, next);
    pe.iput_nbi(to + 1, from, 2, 2, count / 2, next);  // by value: may be changed at once
    for (std::size_t i = 0; i < count; ++i) from[i] = 0;
    pe.barrier_all();
    pe.get(from, to, count, next);
    from[0] = got.parts[0] == 1 && got.parts[3] == 4;
  }
};

TEST(CheckedMemory, AnObjectMayLieInSeveralChunks) {
  for (const auto transport : {TransportChoice::nic, TransportChoice::direct}) {
    Options options = checked_options(transport);
    options.symmetric_size = kFirstChunk;
    options.heap_chunk = 64 << 10;
    expect_job(2, options, [](Context& c) -> Result<void> {
      constexpr std::size_t kCount = 24 << 10;  // three chunks of bytes
      auto to = c.allocate<std::uint64_t>(kCount);
      auto from = c.allocate<std::uint64_t>(kCount);
      if (!to || !from) return mismatch("allocate");
      std::vector<std::uint64_t> numbers(kCount);
      for (std::size_t i = 0; i < kCount; ++i) numbers[i] = i + 1;
      if (auto done = c.upload(*from, numbers.data(), kCount); !done) return done;
      if (auto met = c.barrier(); !met) return met;
      auto ran = c.launch(AcrossChunks{*to, *from, kCount}, {.blocks = 1, .threads = 1});
      if (!ran) return ran;
      if (auto done = c.download(numbers.data(), *from, kCount); !done) return done;
      for (std::size_t i = 0; i < kCount; ++i) {
        if (auto ok = same(numbers[i], i % 2 == 0 ? i + 1 : i, "number"); !ok) return ok;
      }
      return {};
    });
  }
}

// ok if what was found is told in these words.
Result<void> found(const Result<void>& done, const std::string& words) {
  if (done) return mismatch("nothing was found of: " + words);
  EXPECT_THAT(done.error().message(), HasSubstr(words));
  return {};
}

TEST(CheckedMemory, PlainStoresBeyondAnObjectAreFoundWhenTheKernelHasEnded) {
  expect_job(2, checked_options(), [](Context& c) -> Result<void> {
    auto ints = c.allocate<int>(10, "ints");
    if (!ints) return ints.error();
    int* const at = *ints;
    const std::string me = "PE " + std::to_string(c.my_pe()) + ": ";
    const auto ran = c.launch([at](auto&) { at[12] = 7; }, {.blocks = 1, .threads = 1});
    auto done =
        found(ran, me + "an object was overrun: 4 bytes from 8 bytes behind 'ints' (40 bytes) "
                        "on were overwritten");
    if (!done) return done;
    // It is told once.
    return c.launch([at](auto&) { at[9] = 7; }, {.blocks = 1, .threads = 1});
  });
}

TEST(CheckedMemory, StoresToFreedMemoryAreFoundByBarrierAndFree) {
  expect_job(2, checked_options(), [](Context& c) -> Result<void> {
    auto other = c.allocate<int>(10, "other");
    auto old = c.allocate<int>(1000, "old");
    if (!old || !other) return mismatch("allocate");
    if (auto done = c.free(*old); !done) return done;
    (*old)[4] = 1;
    (*old)[5] = 1;
    auto done = found(c.barrier(),
                      "freed memory was written to: 8 bytes from 'old' (4000 bytes, "
                      "freed) + 16 on were overwritten");
    if (!done) return done;
    (*other)[10] = 1;
    if (done = found(c.free(*other), "4 bytes from right behind 'other' (40 bytes)"); !done) {
      return done;
    }
    return c.barrier();  // and it is free all the same
  });
}

TEST(CheckedMemory, StoresThroughADirectPeersAddressAreFoundThere) {
  expect_job(2, checked_options(TransportChoice::direct), [](Context& c) -> Result<void> {
    auto ints = c.allocate<int>(10, "ints");
    if (!ints) return ints.error();
    if (auto met = c.bootstrap().barrier(); !met) return met;  // which does not look
    int* const theirs = c.ptr(*ints, 0);
    if (theirs == nullptr) return mismatch("PE 0 is no direct peer");
    if (c.my_pe() == 1) theirs[10] = 1;
    const Result<void> met = c.barrier();
    return c.my_pe() == 1 ? met
                          : found(met, "PE 0: an object was overrun: 4 bytes from right behind");
  });
}

TEST(CheckedMemory, WhatIsFoundAtTheEndGoesToTheLog) {
  testing::internal::CaptureStderr();
  expect_job(1, checked_options(), [](Context& c) -> Result<void> {
    auto ints = c.allocate<int>(10, "ints");
    if (!ints) return ints.error();
    (*ints)[10] = 1;
    return {};
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("an object was overrun: 4 bytes from right behind 'ints' (40 bytes)"));
}

TEST(CheckedMemory, IsNotUsedAgainAtOnceAndLiesAtTheSameOffsetOnAllPes) {
  std::array<std::vector<std::uint64_t>, 2> offsets;
  Options options = checked_options();
  options.symmetric_size = 2 << 20;
  options.heap_limit = 2 << 20;
  expect_job(2, options, [&](Context& c) -> Result<void> {
    for (int i = 0; i < 5; ++i) {
      auto object = c.allocate<char>(600 << 10);
      if (!object) return object.error();
      const auto address = reinterpret_cast<std::uint64_t>(*object);
      offsets[c.my_pe()].push_back(address - c.device_context().heap.base);
      if (auto done = c.free(*object); !done) return done;
    }
    return {};
  });
  EXPECT_EQ(offsets[0], offsets[1]);
  ASSERT_EQ(offsets[0].size(), 5u);
  EXPECT_NE(offsets[0][0], offsets[0][1]);
  EXPECT_EQ(offsets[0][0], offsets[0][3]);  // the limit leaves nothing but what was freed first
}

TEST(CheckedMemory, ASecondFreeIsRefusedByName) {
  expect_job(1, checked_options(), [](Context& c) -> Result<void> {
    auto ints = c.allocate<int>(10, "ints");
    if (!ints) return ints.error();
    if (auto done = c.free(*ints); !done) return done;
    return found(c.free(*ints), "which is 'ints' (40 bytes, freed); pass what allocate returned");
  });
}

TEST(CheckedMemory, IsOnOnAllPesOrOnNone) {
  const Result<UniqueId> id = make_unique_id(job_options());
  ASSERT_TRUE(id) << id.error().message();
  std::array<std::string, 2> messages;
  std::vector<std::thread> pes;
  for (int pe = 0; pe < 2; ++pe) {
    pes.emplace_back([&, pe] {
      Options options = job_options();
      options.check_memory = pe == 1;
      const auto context = init<CompiledForCpu>(options, *id, pe, 2);
      if (!context) messages[static_cast<std::size_t>(pe)] = context.error().message();
    });
  }
  for (std::thread& pe : pes) pe.join();
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("GDAKIT_CHECK_MEMORY: PE 1 gave on where PE 0 gave off"));
  }
}

}  // namespace
}  // namespace gdakit

// Jobs whose PEs have several soft NICs, which do move bytes.
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "device/channel.h"
#include "tests/support/job.h"
#include "tests/support/soft_nic_set.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;
using test::SoftNicSets;
using testing::HasSubstr;

constexpr std::uint32_t kNics = 3;

Options options_of(QueueType type = QueueType::rc, NicHandler handler = NicHandler::automatic) {
  Options options = job_options();
  options.device = DeviceChoice::cpu;
  options.transport = TransportChoice::nic;
  options.queue_type = type;
  options.nic_handler = handler;
  options.queues_per_peer = kNics;
  return options;
}

// What each NIC of this PE has counted.
std::vector<std::uint64_t> counts(Context& c, std::uint64_t NicCounters::*counter) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t nic = 0; nic < kNics; ++nic) {
    all.push_back(c.backend().nic(nic).counters().*counter);
  }
  return all;
}

constexpr std::size_t kWords = 64;

// Puts to the other PE on each queue, and gets back into memory outside the heap.
Result<void> put_and_get_on_all(Context& c, std::uint32_t queues) {
  auto words = c.allocate<std::uint64_t>(queues * kWords);
  if (!words) return words.error();
  std::vector<std::uint64_t> mine(queues * kWords);
  std::vector<std::uint64_t> back(queues * kWords);
  std::iota(mine.begin(), mine.end(), 1000 * (1 + static_cast<std::uint64_t>(c.my_pe())));
  for (std::vector<std::uint64_t>* const buffer : {&mine, &back}) {
    if (auto ok = c.register_buffer(buffer->data(), buffer->size() * 8); !ok) return ok;
  }
  const Result<void> ran = c.launch(
      [&](auto& pe) {
        const int other = 1 - pe.my_pe();
        for (std::uint32_t q = 0; q < queues; ++q) {
          auto on = pe.on_queue(q);
          on.put_nbi(*words + q * kWords, mine.data() + q * kWords, kWords, other);
          on.quiet();
          on.get(back.data() + q * kWords, *words + q * kWords, kWords, other);
        }
        pe.barrier_all();
      },
      {.blocks = 1, .threads = 1});
  if (!ran) return ran;
  if (back != mine) return mismatch("other words came back");
  const std::uint64_t first = 1000 * (2 - static_cast<std::uint64_t>(c.my_pe()));
  for (std::uint64_t i = 0; i < queues * kWords; ++i) {
    if (auto ok = same((*words)[i], first + i, "word " + std::to_string(i)); !ok) return ok;
  }
  for (const std::vector<std::uint64_t>* const buffer : {&mine, &back}) {
    if (auto ok = c.unregister_buffer(const_cast<std::uint64_t*>(buffer->data())); !ok) return ok;
  }
  return {};
}

struct Way {
  QueueType type;
  NicHandler handler;
  const char* name;
  bool needs_cst = false;

  friend void PrintTo(const Way& way, std::ostream* to) { *to << way.name; }
};

class NicSetJobByWay : public testing::TestWithParam<Way> {};

TEST_P(NicSetJobByWay, MovesWordsByEachNicOfItsPlace) {
  BackendLimits limits;
  limits.needs_cst = GetParam().needs_cst;
  SoftNicSets nics(kNics, limits);
  const Options options = options_of(GetParam().type, GetParam().handler);
  expect_job(2, options, nics, [](Context& c) -> Result<void> {
    const auto reads_before = counts(c, &NicCounters::rx_read_requests);
    const auto puts_before = counts(c, &NicCounters::rx_write_requests);
    if (auto ok = put_and_get_on_all(c, kNics); !ok) return ok;
    const auto reads = counts(c, &NicCounters::rx_read_requests);
    const auto puts = counts(c, &NicCounters::rx_write_requests);
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      const std::string what = " that NIC " + std::to_string(nic) + " answered";
      const std::uint64_t made = puts[nic] - puts_before[nic];
      if (nic == 0 ? made == 0 : made != 1) return mismatch(std::to_string(made) + " puts" + what);
      // The get, and at least one that came behind the put.
      if (reads[nic] - reads_before[nic] < 2) return mismatch("too few READs" + what);
    }
    const std::uint64_t all = std::accumulate(reads.begin(), reads.end(), std::uint64_t{0});
    return same(c.nic_counters().rx_read_requests, all, "READs");
  });
}

INSTANTIATE_TEST_SUITE_P(Each, NicSetJobByWay,
                         testing::Values(Way{QueueType::rc, NicHandler::gpu, "rc"},
                                         Way{QueueType::rc, NicHandler::gpu, "with_cst", true},
                                         Way{QueueType::rc, NicHandler::commands, "commands"},
                                         Way{QueueType::dc, NicHandler::gpu, "dc"},
                                         Way{QueueType::dc, NicHandler::proxy, "dc_by_proxy"}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST(NicSetJob, MovesWordsWithLaterQueuesAndInAHeapThatHasGrown) {
  SoftNicSets nics(kNics);
  Options options = options_of();
  options.symmetric_size = options.heap_chunk = 64 << 10;
  expect_job(2, options, nics, [](Context& c) -> Result<void> {
    if (auto added = c.add_queues(2, Sharing::shared); !added) return added.error();
    if (auto grown = c.allocate<char>(200 << 10); !grown) return grown.error();
    return put_and_get_on_all(c, kNics + 2);
  });
}

// A NIC's atomics are atomic with each other alone.
TEST_P(NicSetJobByWay, ChangesWordsByTheFirstNicWhateverTheQueue) {
  BackendLimits limits;
  limits.needs_cst = GetParam().needs_cst;
  SoftNicSets nics(kNics, limits);
  const Options options = options_of(GetParam().type, GetParam().handler);
  expect_job(2, options, nics, [](Context& c) -> Result<void> {
    constexpr std::uint64_t kRounds = 20;
    auto words = c.allocate<std::uint64_t>(kNics * kWords);
    auto sum = c.allocate<std::uint64_t>(1);
    auto signals = c.allocate<std::uint64_t>(kNics);
    auto checks = test::Checks::make(c);
    if (!words || !sum || !signals || !checks) return mismatch("no memory");
    const auto ran = c.launch(
        [&, expect = checks->expect()](auto& pe) {
          const int other = 1 - pe.my_pe();
          for (std::uint64_t round = 1; round <= kRounds; ++round) {
            for (std::uint32_t q = 0; q < kNics; ++q) {
              std::uint64_t* const mine = *words + q * kWords;
              auto on = pe.on_queue(q);
              on.atomic_inc(*sum, other);
              on.put_signal(mine + kWords / 2, mine, kWords / 2, *signals + q, round, SignalOp::set,
                            other);
              expect(pe, pe.wait_until(*signals + q, Compare::ge, round).ok());
              // The put is there before its signal, with what its source has had for a round.
              const std::uint64_t got = pe.machine().load(order::RelaxedGpu{}, mine + kWords - 1);
              expect(pe, got + 1 >= round);
              mine[kWords / 2 - 1] = round;
            }
          }
          pe.barrier_all();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    if (auto ok = checks->all_held(2 * kRounds * kNics); !ok) return ok;
    if (auto ok = same(**sum, kRounds * kNics, "sum"); !ok) return ok;
    const auto atomics = counts(c, &NicCounters::rx_atomic_requests);
    if (atomics[0] < kRounds * kNics) return mismatch("atomics did not go by NIC 0");
    return same(atomics[1] + atomics[2], 0u, "atomics of other NICs");
  });
}

TEST(NicSetJob, SendsOnChannelsOfAllNics) {
  SoftNicSets nics(kNics);
  expect_job(2, options_of(), nics, [](Context& c) -> Result<void> {
    ChannelOptions wanted;
    wanted.count = kNics;
    wanted.receive_depth = 8;
    const auto channels = c.add_channels(wanted);
    if (!channels) return channels.error();
    auto words = c.allocate<std::uint64_t>(2 * kNics);
    if (!words) return words.error();
    auto checks = test::Checks::make(c);
    if (!checks) return checks.error();
    const auto ran = c.launch(
        [&, expect = checks->expect()](auto& pe) {
          const int other = 1 - pe.my_pe();
          std::uint64_t* const got = *words + kNics;
          for (std::uint32_t i = 0; i < kNics; ++i) {
            (*words)[i] = 100 * (1 + static_cast<std::uint64_t>(pe.my_pe())) + i;
            auto channel = pe.channel(*channels, i);
            expect(pe, channel.post_receive(got + i, 8, other).ok());
          }
          pe.barrier_all();
          for (std::uint32_t i = 0; i < kNics; ++i) {
            auto channel = pe.channel(*channels, i);
            expect(pe, channel.send(*words + i, 1, other).ok());
            expect(pe, channel.wait_receive(other).status.ok());
            expect(pe, got[i] == 100 * (1 + static_cast<std::uint64_t>(other)) + i);
          }
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return checks->all_held(4 * kNics);
  });
}

// A READ would break the queue; one to a PE that is here shows that there is none.
TEST(NicSetJob, ReadsNothingOfAPeThatIsLost) {
  SoftNicSets nics(kNics);
  expect_job(2, options_of(), nics, [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(1);
    if (!words) return words.error();
    const auto put = [&](Context& by) {
      return by.launch(
          [&](auto& pe) {
            auto on = pe.on_queue(1);
            on.put_value(*words, std::uint64_t{7}, 1);
            on.quiet();
          },
          {.blocks = 1, .threads = 1});
    };
    for (const bool lost : {false, true}) {
      const auto before = counts(c, &NicCounters::rx_read_requests);
      if (auto met = c.barrier(); !met) return met;
      if (c.my_pe() == 0) {
        PeState* const state = c.device_context().state;
        const std::uint64_t gone[] = {0, 1};
        state->lost = reinterpret_cast<std::uintptr_t>(gone);
        state->losses = lost ? 1 : 0;
        const Result<void> done = put(c);
        state->losses = 0;
        state->lost = 0;
        if (!done) return done;
      }
      if (auto met = c.barrier(); !met) return met;
      const auto after = counts(c, &NicCounters::rx_read_requests);
      const std::uint64_t expected = c.my_pe() == 1 && !lost ? 1 : 0;
      if (auto ok = same(after[1] - before[1], expected, "READs of NIC 1"); !ok) return ok;
    }
    return {};
  });
}

// Spoils what PE 0's NIC 1 has as the key of PE 1's heap: that NIC's queue breaks, and no other.
TEST(NicSetJob, NamesTheNicOfABrokenQueue) {
  SoftNicSets nics(kNics);
  Options options = options_of();
  options.check_memory = false;
  expect_job(2, options, nics, [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() != 0) return c.barrier();
    const HeapView heap = c.device_context().heap;
    auto& key = const_cast<Be32&>(heap.rkeys[heap.chunk_room * 2 + 1]);
    key = Be32{key ^ 0x5500};
    const auto put_on = [&](std::uint32_t queue) {
      return c.launch(
          [&](auto& pe) {
            auto on = pe.on_queue(queue);
            on.put_value(*word, std::uint64_t{1}, 1);
            on.quiet();
          },
          {.blocks = 1, .threads = 1});
    };
    const Result<void> by_others[] = {put_on(0), put_on(2)};
    const Result<void> by_it = put_on(1);
    const auto broken = c.backend().broken_queues();
    if (auto met = c.barrier(); !met) return met;
    for (const Result<void>& done : by_others) {
      if (!done) return done;
    }
    if (by_it) return mismatch("launch did not report the broken queue");
    EXPECT_THAT(by_it.error().message(), HasSubstr("the NIC says: NIC 1: QP "));
    if (auto ok = same(broken.size(), std::size_t{1}, "broken queues"); !ok) return ok;
    return same(broken.front().number % kNics, 1u, "NIC of the broken queue");
  });
}

}  // namespace
}  // namespace gdakit

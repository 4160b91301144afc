// Put and get between PEs through the soft NIC.
#include <numeric>
#include <vector>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

enum class By { thread, warp, block };
enum class How { blocking, nbi, ticket };

template <class Pe, class Act>
void by(Pe& pe, By group, Act&& act) {
  if (group == By::block) {
    auto block = pe.block();
    act(block);
  } else if (group == By::warp) {
    if (pe.machine().warp() != 0) return;
    auto warp = pe.warp();
    act(warp);
  } else if (pe.machine().thread_index() == 0) {
    act(pe);
  }
}

template <class Pe, class T>
Status put_and_complete(Pe& pe, How how, T* remote, const T* local, std::size_t count, int to) {
  if (how == How::blocking) return pe.put(remote, local, count, to);
  if (how == How::ticket) return pe.wait(pe.put_async(remote, local, count, to));
  const Status posted = pe.put_nbi(remote, local, count, to);
  return posted.ok() ? pe.quiet() : posted;
}

template <class Pe, class T>
Status get_and_complete(Pe& pe, How how, T* local, const T* remote, std::size_t count, int to) {
  if (how == How::blocking) return pe.get(local, remote, count, to);
  if (how == How::ticket) return pe.wait(pe.get_async(local, remote, count, to));
  const Status posted = pe.get_nbi(local, remote, count, to);
  return posted.ok() ? pe.quiet() : posted;
}

class RmaBy : public testing::TestWithParam<std::tuple<By, How>> {};

// Every PE puts a pattern to its right neighbour, then gets it back from there.
TEST_P(RmaBy, MovesEveryByteThereAndBack) {
  const auto [group, how] = GetParam();
  for (const std::size_t count : {1u, 7u, 1000u, 70'000u}) {
    expect_job(3, job_options(), [&, group = group, how = how](Context& c) -> Result<void> {
      auto target = c.allocate<std::uint32_t>(count);
      auto source = c.allocate<std::uint32_t>(count);
      auto back = c.allocate<std::uint32_t>(count);
      if (!target || !source || !back) return mismatch("allocate");
      std::iota(*source, *source + count, 1000u * static_cast<unsigned>(c.my_pe() + 1));
      const int right = (c.my_pe() + 1) % c.n_pes();
      std::atomic<int> failures = 0;
      Result<void> ran = c.launch(
          [&](auto& pe) {
            by(pe, group, [&](auto& g) {
              if (!put_and_complete(g, how, *target, *source, count, right)) ++failures;
              if (!g.barrier_all()) ++failures;
              if (!get_and_complete(g, how, *back, *target, count, right)) ++failures;
              if (!g.barrier_all()) ++failures;
            });
          },
          {.blocks = 1, .threads = 48});
      if (!ran) return ran;
      if (failures != 0) return mismatch("a call failed");
      const int left = (c.my_pe() + c.n_pes() - 1) % c.n_pes();
      for (std::size_t i = 0; i < count; ++i) {
        const auto put = 1000u * static_cast<unsigned>(left + 1) + static_cast<unsigned>(i);
        if (auto ok = same((*target)[i], put, "put, element " + std::to_string(i)); !ok) return ok;
        if (auto ok = same((*back)[i], (*source)[i], "get, element " + std::to_string(i)); !ok) {
          return ok;
        }
      }
      return {};
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, RmaBy,
                         testing::Combine(testing::Values(By::thread, By::warp, By::block),
                                          testing::Values(How::blocking, How::nbi, How::ticket)));

// Transfers that begin and end at every side of a chunk border, on both sides, and are longer than
// the largest message.
TEST(Rma, CutsAtChunkBordersAndTheLargestMessage) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  BackendLimits limits;
  limits.max_message_bytes = 10'000;
  test::LimitedProvider provider(limits);
  constexpr std::size_t kBytes = 300'000;
  const Result<void> done = run_in_process(2, options, provider, [&](Context& c) -> Result<void> {
    auto source = c.allocate<unsigned char>(kBytes);
    auto target = c.allocate<unsigned char>(kBytes);
    if (!source || !target) return mismatch("allocate");
    for (std::size_t i = 0; i < kBytes; ++i) {
      (*source)[i] = static_cast<unsigned char>(i * 31 + static_cast<std::size_t>(c.my_pe()));
    }
    for (const std::size_t skew : {0u, 1u, 4095u, 65'536u - 256u}) {
      const std::size_t bytes = kBytes - 2 * skew - 1;
      for (const By group : {By::thread, By::warp, By::block}) {
        std::fill(*target, *target + kBytes, static_cast<unsigned char>(0));
        if (auto met = c.barrier(); !met) return met;
        Result<void> ran = c.launch(
            [&](auto& pe) {
              by(pe, group, [&](auto& g) {
                g.put_nbi(*target + skew + 1, *source + skew, bytes, 1 - pe.my_pe());
                g.barrier_all();
              });
            },
            {.blocks = 1, .threads = 64});
        if (!ran) return ran;
        for (std::size_t i = 0; i < bytes; ++i) {
          const auto expected =
              static_cast<unsigned char>((i + skew) * 31 + static_cast<std::size_t>(1 - c.my_pe()));
          if (auto ok = same((*target)[skew + 1 + i], expected, "byte " + std::to_string(i)); !ok) {
            return ok;
          }
        }
        if (auto ok = same((*target)[skew], 0, "byte before the transfer"); !ok) return ok;
        if (auto ok = same((*target)[skew + 1 + bytes], 0, "byte behind it"); !ok) return ok;
      }
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
}

// All lanes of all warps of many blocks put one element each, to different PEs.
TEST(Rma, PostsTogetherWhateverPeTheLanesChoose) {
  constexpr unsigned kBlocks = 8;
  constexpr unsigned kThreads = 96;
  expect_job(4, job_options(), [](Context& c) -> Result<void> {
    const std::size_t count = kBlocks * kThreads;
    const auto n = static_cast<std::size_t>(c.n_pes());
    auto target = c.allocate<std::uint64_t>(count * n);
    auto source = c.allocate<std::uint64_t>(count);
    if (!target || !source) return mismatch("allocate");
    Result<void> ran = c.launch(
        [&](auto& pe) {
          auto& m = pe.machine();
          const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
          (*source)[me] = 1'000'000 * static_cast<unsigned>(pe.my_pe() + 1) + me;
          const int to = static_cast<int>((me * 7 + me / 5) % n);
          pe.put_nbi(*target + static_cast<std::size_t>(pe.my_pe()) * count + me, *source + me, 1,
                     to);
          if (m.thread_index() % 3 == 0) {  // a part of the warp goes on alone
            pe.put_value(*target + static_cast<std::size_t>(pe.my_pe()) * count + me, (*source)[me],
                         to);
          }
          pe.quiet();
        },
        {.blocks = kBlocks, .threads = kThreads});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t i = 0; i < count; ++i) {
        const bool mine = static_cast<int>((i * 7 + i / 5) % n) == c.my_pe();
        const std::uint64_t expected = mine ? 1'000'000 * (from + 1) + i : 0;
        if (auto ok = same((*target)[from * count + i], expected, "element"); !ok) return ok;
      }
    }
    return {};
  });
}

TEST(Rma, PutsAndGetsValuesOfEverySize) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(8);
    if (!words) return words.error();
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          const int to = 1 - pe.my_pe();
          auto* base = reinterpret_cast<char*>(*words);
          pe.put_value(reinterpret_cast<std::uint8_t*>(base), std::uint8_t{0x81}, to);
          pe.put_value(reinterpret_cast<std::uint16_t*>(base + 8), std::uint16_t{0x8182}, to);
          pe.put_value(reinterpret_cast<float*>(base + 16), -1.5f, to);
          pe.put_value(reinterpret_cast<double*>(base + 24), 2.25, to);
          pe.put_value(reinterpret_cast<long*>(base + 32), -7L, to);
          pe.barrier_all();
          Status status;
          wrong += pe.get_value(reinterpret_cast<std::uint8_t*>(base), to) != 0x81;
          wrong += pe.get_value(reinterpret_cast<std::uint16_t*>(base + 8), to) != 0x8182;
          wrong += pe.get_value(reinterpret_cast<float*>(base + 16), to) != -1.5f;
          wrong += pe.get_value(reinterpret_cast<double*>(base + 24), to) != 2.25;
          wrong += pe.get_value(reinterpret_cast<long*>(base + 32), to, &status) != -7L;
          wrong += !status.ok();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return same(wrong.load(), 0, "wrong values");
  });
}

// More lanes fetch at once than there are fetch slots.
TEST(Rma, SharesTheFetchSlotsAmongManyThreads) {
  Options options = job_options();
  options.fetch_slots = 32;
  options.emulator_workers = 2;
  expect_job(2, options, [](Context& c) -> Result<void> {
    auto table = c.allocate<std::uint32_t>(512);
    if (!table) return table.error();
    for (unsigned i = 0; i < 512; ++i) (*table)[i] = i * 3 + static_cast<unsigned>(c.my_pe());
    if (auto met = c.barrier(); !met) return met;
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          auto& m = pe.machine();
          const unsigned me = m.block_index() * m.block_threads() + m.thread_index();
          const int to = 1 - pe.my_pe();
          for (int i = 0; i < 5; ++i) {
            const std::uint32_t got = pe.get_value(*table + me, to);
            wrong += got != me * 3 + static_cast<unsigned>(to);
          }
        },
        {.blocks = 4, .threads = 128});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return same(wrong.load(), 0, "wrong values");
  });
}

TEST(Rma, UsesRegisteredBuffersAndRefusesOthers) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto target = c.allocate<int>(64);
    if (!target) return target.error();
    std::vector<int> registered(64, 11 + c.my_pe());
    std::vector<int> stranger(64, -1);
    if (auto done = c.register_buffer(registered.data(), 64 * sizeof(int)); !done) return done;
    Status refused;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          pe.put_nbi(*target, registered.data(), 64, 1 - pe.my_pe());
          pe.barrier_all();
          refused = pe.put(*target, stranger.data(), 64, 1 - pe.my_pe());
        },
        {.blocks = 1, .threads = 1});
    if (ran) return mismatch("launch did not report the bad address");
    if (ran.error().message().find("neither in the symmetric heap nor registered") ==
        std::string::npos) {
      return ran;
    }
    if (refused.code != StatusCode::invalid_address) return mismatch("the put was not refused");
    c.clear_reports();
    if (auto ok = same((*target)[63], 11 + 1 - c.my_pe(), "target"); !ok) return ok;
    if (auto done = c.unregister_buffer(registered.data()); !done) return done;
    return c.unregister_buffer(registered.data()) ? mismatch("unregistered twice") : Result<void>();
  });
}

TEST(Rma, RefusesPesAndQueuesThatDoNotExist) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    std::atomic<int> refused = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          const auto bad = StatusCode::invalid_argument;
          refused += pe.put_value(*word, 1, 2).code == bad;
          refused += pe.put_value(*word, 1, -1).code == bad;
          refused += pe.put(*word, *word, 1, 7).code == bad;
          refused += pe.atomic_add(*word, 1, 2).code == bad;
          refused += pe.on_queue(99).put_value(*word, 1, 0).code == bad;
          refused += pe.exclusively_on(0).put_value(*word, 1, 0).code == bad;  // it is shared
          auto* unaligned = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(*word) + 4);
          refused += pe.atomic_add(unaligned, 1, 0).code == bad;
        },
        {.blocks = 1, .threads = 1});
    if (ran) return mismatch("launch did not report the bad arguments");
    return same(refused.load(), 7, "refused calls");
  });
}

// A device that does not order inbound writes by itself: reads are followed by a DUMP.
TEST(Rma, FlushesReadsWhereTheDeviceAsksForIt) {
  BackendLimits limits;
  limits.needs_cst = true;
  test::LimitedProvider provider(limits);
  const Result<void> done =
      run_in_process(2, job_options(), provider, [](Context& c) -> Result<void> {
        auto words = c.allocate<std::uint64_t>(64);
        auto copy = c.allocate<std::uint64_t>(64);
        if (!words || !copy) return mismatch("allocate");
        std::iota(*words, *words + 64, 100u * static_cast<unsigned>(c.my_pe() + 1));
        if (auto met = c.barrier(); !met) return met;
        const std::uint64_t before = c.nic_counters().wqes;
        std::atomic<int> wrong = 0;
        Result<void> ran = c.launch(
            [&](auto& pe) {
              const int to = 1 - pe.my_pe();
              wrong += !pe.get_nbi(*copy, *words, 64, to).ok();
              wrong += !pe.quiet().ok();
              wrong += pe.get_value(*words + 5, to) != 100u * static_cast<unsigned>(to + 1) + 5;
              wrong += pe.atomic_fetch(*words + 6, to) != 100u * static_cast<unsigned>(to + 1) + 6;
            },
            {.blocks = 1, .threads = 1});
        if (!ran) return ran;
        if (auto ok = same(wrong.load(), 0, "wrong results"); !ok) return ok;
        if (auto ok = same((*copy)[63], 100u * static_cast<unsigned>(2 - c.my_pe()) + 63, "get");
            !ok) {
          return ok;
        }
        // READ and DUMP of each of the three; the peer's requests are not counted here.
        return same(c.nic_counters().wqes - before, 6u, "WQEs");
      });
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace gdakit

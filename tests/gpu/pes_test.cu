// Several PEs of one process, on one GPU and on two: every PE puts to every other one at the same
// time.
#include "core/host/gpu/gpu.h"
#include "tests/gpu/streams.cuh"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::expect_job;
using test::fill;
using test::job_options;
using test::mismatch;

// What PE `from` puts to PE `to` at element i.
GDAKIT_HOST_DEVICE constexpr std::uint32_t element(std::size_t i, int from, int to) {
  return static_cast<std::uint32_t>(i * 2654435761u) ^ static_cast<std::uint32_t>(from << 24) ^
         static_cast<std::uint32_t>(to << 16);
}

// Block b puts to the PEs b, b + blocks, ... Then all meet.
struct PutToAll {
  std::uint32_t* target;        // [from][element]
  const std::uint32_t* source;  // [to][element]
  std::size_t count;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto block = pe.block();
    bool ok = true;
    for (auto to = static_cast<int>(m.block_index()); to < pe.n_pes();
         to += static_cast<int>(m.grid_blocks())) {
      std::uint32_t* const row = target + static_cast<std::size_t>(pe.my_pe()) * count;
      ok = block.put_nbi(row, source + static_cast<std::size_t>(to) * count, count, to).ok() && ok;
    }
    expect(pe, block.quiet().ok() && ok);
  }
};

struct Meet {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.block().barrier_all().ok());
  }
};

Result<void> put_to_all(Context& c, std::size_t count) {
  const auto n = static_cast<std::size_t>(c.n_pes());
  auto target = c.allocate<std::uint32_t>(n * count);
  auto source = c.allocate<std::uint32_t>(n * count);
  auto checks = Checks::make(c);
  if (!target || !source || !checks) return mismatch("allocate");
  const auto mine = [&](std::size_t at) {
    return element(at % count, c.my_pe(), static_cast<int>(at / count));
  };
  if (auto ok = fill(c, *source, n * count, mine); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  const PutToAll put{*target, *source, count, checks->expect()};
  for (int round = 0; round < 3; ++round) {
    if (auto ran = c.launch(put, {4, 128}); !ran) return ran;
  }
  if (auto ran = c.launch(Meet{checks->expect()}, {1, 128}); !ran) return ran;
  if (auto ok = checks->all_held((3 * 4 + 1) * 128); !ok) return ok;
  return all_are(c, *target, n * count, "element", [&](std::size_t at) {
    return element(at % count, static_cast<int>(at / count), c.my_pe());
  });
}

// On which GPUs, and how much each PE puts to each.
void expect_puts_to_all(int n_pes, std::vector<std::uint32_t> gpus, std::size_t count) {
  Options options = job_options();
  options.gpus = std::move(gpus);
  expect_job(n_pes, options, [count](Context& c) -> Result<void> {
    if (!c.on_gpu()) return mismatch("this PE is not on a GPU");
    return put_to_all(c, count);
  });
}

class Pes : public testing::TestWithParam<int> {};

TEST_P(Pes, OnOneGpuPutToEachOther) {
  expect_puts_to_all(GetParam(), {0}, test::sized<std::size_t>(300'000, 3'000));
}

TEST_P(Pes, OnTwoGpusPutToEachOther) {
  if (report_gpus().gpus.size() < 2) GTEST_SKIP() << "needs two GPUs; this machine has one";
  expect_puts_to_all(GetParam(), {0, 1}, test::sized<std::size_t>(300'000, 3'000));
}

// Each thread of a large block puts a word of its own. `max_threads` is there, or not.
struct PutOwnWord {
  std::uint32_t* target;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto i = static_cast<std::uint32_t>(pe.machine().thread_index());
    pe.put_value(target + i, i + 1, pe.my_pe());
    pe.block().quiet();
  }
};
struct BoundedPutOwnWord : PutOwnWord {
  static constexpr int max_threads = 1024;
};

TEST(LargeBlock, RunsIfTheKernelNamesItAndSaysSoIfNot) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto target = c.allocate<std::uint32_t>(1024);
    if (!target) return target.error();
    const Result<void> refused = c.launch(PutOwnWord{*target}, {1, 1024});
    if (refused || refused.error().message().find("max_threads = 1024") == std::string::npos) {
      return mismatch("the launch of a kernel with too many registers");
    }
    if (auto ran = c.launch(BoundedPutOwnWord{{*target}}, {1, 1024}); !ran) return ran;
    return all_are(c, *target, 1024, "word",
                   [](std::size_t i) { return static_cast<std::uint32_t>(i + 1); });
  });
}

INSTANTIATE_TEST_SUITE_P(Count, Pes, testing::Values(2, 4, 8));

}  // namespace
}  // namespace gdakit

// Kernels of several threads' streams run side by side, also where all streams are new.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/gpu/streams.cuh"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;

// Every PE's stream gets many of them, each of which waits for those of all others.
struct MeetAll {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.block().barrier_all().ok());
  }
};

constexpr int kRounds = 8;

// The PEs launch all rounds at the same moment, `stream(c)` being new.
template <class StreamOf>
void expect_all_meet(int n_pes, StreamOf stream_of) {
  std::atomic<int> arrived{0};
  expect_job(n_pes, job_options(), [&](Context& c) -> Result<void> {
    auto checks = test::Checks::make(c);
    if (!checks) return checks.error();
    auto streams = stream_of(c);
    if (!streams) return streams.error();
    cudaStream_t const stream = *streams ? (*streams)->at(0) : c.stream();
    if (auto met = c.barrier(); !met) return met;
    arrived.fetch_add(1);
    while (arrived.load() < n_pes) {
    }
    for (int i = 0; i < kRounds; ++i) {
      auto launched = c.launch_on(stream, MeetAll{checks->expect()}, {.blocks = 1, .threads = 32});
      if (!launched) return launched;
    }
    if (auto ended = c.synchronize(stream); !ended) return ended;
    return checks->all_held(kRounds * 32);
  });
}

TEST(FirstWork, NewStreamsOfPesRunSideBySide) {
  for (int i = 0; i < 5; ++i) {
    expect_all_meet(3,
                    [](Context&) -> Result<std::unique_ptr<test::Streams>> { return {nullptr}; });
    if (HasFailure() || IsSkipped()) return;
  }
}

TEST(FirstWork, NewStreamsOfTheProgramRunSideBySide) {
  for (int i = 0; i < 5; ++i) {
    expect_all_meet(3, [](Context& c) -> Result<std::unique_ptr<test::Streams>> {
      auto made = test::Streams::make(c, 1);
      if (!made) return made.error();
      return std::make_unique<test::Streams>(std::move(*made));
    });
    if (HasFailure() || IsSkipped()) return;
  }
}

// More PEs than CUDA has hardware queues for if not told otherwise.
TEST(FirstWork, TwelvePesRunSideBySide) {
  expect_all_meet(12, [](Context&) -> Result<std::unique_ptr<test::Streams>> { return {nullptr}; });
}

}  // namespace
}  // namespace gdakit

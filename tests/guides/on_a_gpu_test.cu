// The kernel of one's own in docs/on-a-gpu.md.
#include <gtest/gtest.h>

#include "gdakit.h"
#include "tests/gpu/streams.cuh"
#include "tests/support/job.h"

namespace gdakit::test {
namespace {

#include <guides/on-a-gpu-1.inc>

TEST(OnAGpu, AKernelOfOnesOwnPuts) {
  expect_job(2, job_options(), [](Context& context) -> Result<void> {
    auto object = context.allocate<int>(1);
    auto streams = Streams::make(context, 1);
    if (!object || !streams) return mismatch("set up");
    int* const destination = *object;
    const auto stream = streams->at(0);
    {
#include <guides/on-a-gpu-2.inc>
      if (!done) return done;
    }
    if (auto met = context.barrier(); !met) return met;
    int received = -1;
    if (auto done = context.download(&received, destination, 1); !done) return done;
    EXPECT_EQ(received, 1 - context.my_pe());
    return {};
  });
}

}  // namespace
}  // namespace gdakit::test

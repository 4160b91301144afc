// The kernel of README.md.
#include <gtest/gtest.h>

#include "gdakit.h"
#include "tests/support/job.h"

namespace gdakit::test {
namespace {

#include <guides/README-1.inc>

TEST(Readme, TheKernelShiftsTheRing) {
  expect_job(3, job_options(), [](Context& context) -> Result<void> {
    auto destination = context.allocate<int>(1);
    if (!destination) return destination.error();
    if (auto done = context.launch(RingShift{*destination}, {}); !done) return done;
    int received = -1;
    if (auto done = context.download(&received, *destination, 1); !done) return done;
    EXPECT_EQ(received, (context.my_pe() + 2) % 3);
    return {};
  });
}

}  // namespace
}  // namespace gdakit::test

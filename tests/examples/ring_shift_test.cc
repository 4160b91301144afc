#include <gmock/gmock.h>

#include "tests/examples/program.h"

namespace gdakit {
namespace {

using testing::HasSubstr;

TEST(RingShift, RunsAloneAsAJobOfOne) {
  const test::Outcome outcome = test::run(RING_SHIFT);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "PE 0 of 1 received 0\n");
}

TEST(RingShift, GivesEveryPeTheNumberOfItsLeftNeighbour) {
  const test::Outcome outcome = test::run(GDAKIT " run -n 4 --timeout 50 " RING_SHIFT);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("PE 0 of 4 received 3\n"));
  EXPECT_THAT(outcome.output, HasSubstr("PE 1 of 4 received 0\n"));
  EXPECT_THAT(outcome.output, HasSubstr("PE 2 of 4 received 1\n"));
  EXPECT_THAT(outcome.output, HasSubstr("PE 3 of 4 received 2\n"));
}

}  // namespace
}  // namespace gdakit

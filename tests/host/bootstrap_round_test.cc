#include "core/host/bootstrap_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/host/bootstrap_job.h"

namespace gdakit::testing_bootstrap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr CollectiveCall kBarrier{CollectiveKind::barrier, 0, 5};

TEST(BootstrapRound, IsCompleteWhenAllHaveCome) {
  BootstrapRound round(2);
  EXPECT_TRUE(round.empty());
  EXPECT_TRUE(round.add(1, kBarrier, {}));
  EXPECT_FALSE(round.complete());
  EXPECT_TRUE(round.add(0, kBarrier, {}));
  EXPECT_TRUE(round.complete());
  round.next();
  EXPECT_TRUE(round.empty());
}

TEST(BootstrapRound, APeThatComesTwiceIsAnError) {
  BootstrapRound round(2);
  EXPECT_TRUE(round.add(1, kBarrier, {}));
  EXPECT_THAT(message_of(round.add(1, kBarrier, {})), HasSubstr("one thread at a time"));
}

TEST(BootstrapRound, AnotherSequenceIsAMismatch) {
  BootstrapRound round(2);
  EXPECT_TRUE(round.add(1, kBarrier, {}));
  EXPECT_THAT(
      message_of(round.add(0, {CollectiveKind::barrier, 0, 6}, {})),
      AllOf(HasSubstr("PE 1 called barrier (call 5)"), HasSubstr("PE 0 called barrier (call 6)")));
}

TEST(BootstrapRound, ARootThatIsNoPeIsAnError) {
  for (const int root : {-1, 2}) {
    BootstrapRound round(2);
    EXPECT_THAT(message_of(round.add(0, {CollectiveKind::broadcast, root, 0}, {})),
                HasSubstr("the job has 2 PEs"));
  }
}

TEST(BootstrapRound, TheNumberOfBlobsMustBeTheCalls) {
  for (const CollectiveKind kind :
       {CollectiveKind::join, CollectiveKind::barrier, CollectiveKind::allgather,
        CollectiveKind::alltoall, CollectiveKind::broadcast}) {
    BootstrapRound round(2);
    EXPECT_THAT(message_of(round.add(0, {kind, 0, 0}, std::vector<Bytes>(3))),
                HasSubstr("with 3 blobs"));
  }
}

TEST(BootstrapRound, ATimeoutIsWordedInSeconds) {
  BootstrapRound round(3);
  EXPECT_TRUE(round.add(1, kBarrier, {}));
  EXPECT_EQ(round.timed_out(60s).message(),
            "barrier timed out after 60 s: no message from PE 0, PE 2");
  EXPECT_EQ(seconds_text(1050ms), "1.05 s");
}

}  // namespace
}  // namespace gdakit::testing_bootstrap

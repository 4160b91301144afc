#include "core/host/bootstrap/bootstrap_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/seconds_text.h"
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

TEST(BootstrapRound, IsCompleteWithoutThoseThatAreLost) {
  BootstrapRound round(3);
  EXPECT_TRUE(round.add(1, kBarrier, {}));
  EXPECT_TRUE(round.add(2, kBarrier, {}));
  round.lose(2);  // which had come
  EXPECT_FALSE(round.complete());
  EXPECT_EQ(round.timed_out(1s).message(), "barrier timed out after 1 s: no message from PE 0");
  EXPECT_TRUE(round.add(0, kBarrier, {}));
  EXPECT_TRUE(round.complete());
  EXPECT_FALSE(round.refusal());
}

TEST(BootstrapRound, ThatTakesAllPesIsRefusedWhereOneIsLost) {
  const CollectiveCall allocate{CollectiveKind::allgather, 0, 5, Purpose::allocate};
  BootstrapRound round(3);
  round.lose(2);
  EXPECT_TRUE(round.add(0, allocate, std::vector<Bytes>(1)));
  EXPECT_TRUE(round.add(1, allocate, std::vector<Bytes>(1)));
  EXPECT_TRUE(round.complete());
  const std::optional<Error> refusal = round.refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code(), Code::peer_lost);
  EXPECT_EQ(refusal->message(),
            "allocate takes all PEs of the job, and PE 2 is lost; what was allocated before can "
            "still be used");
}

TEST(BootstrapRound, ARefusalNamesAllThatAreLost) {
  BootstrapRound round(4);
  round.lose(3);
  round.lose(1);
  for (const int rank : {0, 2}) {
    EXPECT_TRUE(round.add(rank, {CollectiveKind::allgather, 0, 5}, std::vector<Bytes>(1)));
  }
  const std::optional<Error> refusal = round.refusal();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->message(),
            "allgather (call 5) takes all PEs of the job, and PE 1, PE 3 are lost; what was "
            "allocated before can still be used");
}

TEST(BootstrapRound, WhoLeavesAJobThatTimedOutIsNotLost) {
  EXPECT_FALSE(left_failed_job(1, std::nullopt));
  EXPECT_FALSE(left_failed_job(1, Error(Code::timed_out, "barrier timed out")));
  const std::optional<LostPe> lost = left_failed_job(1, Error(Code::aborted, "PE 2 is gone"));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->pe, 1);
  EXPECT_TRUE(lost->ends_job);
  EXPECT_EQ(lost->why, "PE 1 has left the job, which has failed: PE 2 is gone");
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

TEST(BootstrapRound, AMismatchIsWordedByWhatTheProgramCalled) {
  const CollectiveCall allocate{CollectiveKind::allgather, 0, 5, Purpose::allocate};
  const CollectiveCall end{CollectiveKind::barrier, 0, 5, Purpose::end};
  for (const bool end_first : {true, false}) {
    BootstrapRound round(2);
    EXPECT_TRUE(round.add(end_first ? 1 : 0, end_first ? end : allocate,
                          std::vector<Bytes>(end_first ? 0 : 1)));
    EXPECT_EQ(message_of(round.add(end_first ? 0 : 1, end_first ? allocate : end,
                                   std::vector<Bytes>(end_first ? 1 : 0))),
              "collective calls do not match: PE 1 ended its Context while PE 0 called allocate; "
              "every PE must make the same calls in the same order");
  }
  BootstrapRound round(2);
  EXPECT_TRUE(round.add(0, allocate, std::vector<Bytes>(1)));
  EXPECT_EQ(round.timed_out(60s).message(), "allocate timed out after 60 s: no message from PE 1");
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

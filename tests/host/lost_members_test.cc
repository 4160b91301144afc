// What the members of a bootstrap hear of those that are gone, in calls and between them.
#include <future>
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/tcp_bootstrap.h"
#include "tests/host/bootstrap_job.h"
#include "tests/host/raw_client.h"

namespace gdakit::testing_bootstrap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kGone = "PE 2 is gone: the connection was closed before it left the job";

// A TCP job of three whose PE 2 is a raw client.
class LostMember : public testing::TestWithParam<PeerLoss> {
 protected:
  void SetUp() override {
    std::vector<std::future<Result<std::unique_ptr<Bootstrap>>>> joining;
    for (int rank = 0; rank < 2; ++rank) {
      LaunchInfo info = job_.info(rank);
      info.peer_loss = GetParam();
      joining.push_back(std::async(
          std::launch::async, [info] { return open_tcp_bootstrap(info, Log(LogLevel::error)); }));
    }
    two_ = join_raw(job_, 2);
    for (auto& member : joining) {
      Result<std::unique_ptr<Bootstrap>> joined = member.get();
      ASSERT_TRUE(joined) << joined.error().message();
      members_.push_back(std::move(*joined));
    }
  }
  // Not one after the other: PE 1 leaves while the hub is there.
  void TearDown() override {
    while (!members_.empty()) members_.pop_back();
  }

  Bootstrap& member(int rank) { return *members_[static_cast<std::size_t>(rank)]; }
  bool ends_job() const { return GetParam() == PeerLoss::end; }

  // What a member hears first, between calls.
  LostPe await_loss(int rank) {
    for (int look = 0; look < 2000; ++look) {
      const std::vector<LostPe> lost = member(rank).take_losses();
      if (!lost.empty()) return lost.front();
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "PE " << rank << " heard nothing";
    return {-1, "", false};
  }

  // Of both members' `call`, at the same time.
  template <class Call>
  std::vector<Result<void>> both(const Call& call) {
    auto one = std::async(std::launch::async, [&]() -> Result<void> { return call(member(1)); });
    Result<void> zero = call(member(0));
    return {std::move(zero), one.get()};
  }

  const TcpJob job_{3};
  std::unique_ptr<RawClient> two_;
  std::vector<std::unique_ptr<Bootstrap>> members_;
};

Result<void> gather(Bootstrap& bootstrap) {
  const auto all = bootstrap.allgather(bytes_of("blob"));
  return all ? Result<void>() : Result<void>(all.error());
}

TEST_P(LostMember, IsHeardOfBetweenCalls) {
  two_->close();
  for (int rank = 0; rank < 2; ++rank) {
    const LostPe lost = await_loss(rank);
    EXPECT_EQ(lost.pe, 2);
    EXPECT_EQ(lost.why, kGone);
    EXPECT_EQ(lost.ends_job, ends_job());
    EXPECT_TRUE(member(rank).take_losses().empty()) << "it is told once";
  }
}

TEST_P(LostMember, IsNobodyAsLongAsAllAreThere) {
  for (int look = 0; look < 20; ++look) {
    EXPECT_TRUE(member(0).take_losses().empty());
    EXPECT_TRUE(member(1).take_losses().empty());
    std::this_thread::sleep_for(5ms);
  }
}

// A PE that leaves in an orderly way is none.
TEST_P(LostMember, IsNotOneThatLeaves) {
  two_->send(header_of(static_cast<std::uint32_t>(tcp_wire::FrameType::leave), 0, 0));
  two_->close();
  for (int look = 0; look < 20; ++look) {
    EXPECT_TRUE(member(0).take_losses().empty());
    EXPECT_TRUE(member(1).take_losses().empty());
    std::this_thread::sleep_for(5ms);
  }
  for (const Result<void>& met : both([](Bootstrap& b) { return b.barrier(); })) {
    EXPECT_THAT(message_of(met), HasSubstr("PE 2 has left the job"));
  }
  EXPECT_TRUE(member(0).take_losses().empty());
  EXPECT_TRUE(member(1).take_losses().empty());
}

TEST_P(LostMember, OfAnAbortIsWhoeverCalledIt) {
  member(1).abort("it is enough");
  const LostPe lost = await_loss(0);
  EXPECT_EQ(lost.pe, 1);
  EXPECT_EQ(lost.why, "PE 1 ended the job: it is enough");
  EXPECT_TRUE(lost.ends_job);
  EXPECT_TRUE(member(1).take_losses().empty()) << "PE 1 is not lost to itself";
}

TEST_P(LostMember, InACallIsHeardOfTooAndByAllAlike) {
  auto later = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(50ms);
    two_->close();
  });
  for (const Result<void>& met : both([](Bootstrap& b) { return b.barrier(); })) {
    EXPECT_EQ(message_of(met), ends_job() ? kGone : "no error");
  }
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(await_loss(rank).pe, 2);
}

// Its process ends because the job has failed, which the others may not know yet.
TEST_P(LostMember, IsOneToThoseWhoHaveNotHeardThatTheJobFailed) {
  two_->send(header_of(kBarrier, 5, 0));
  auto zero = std::async(std::launch::async, [&] { return member(0).barrier(); });
  EXPECT_THAT(message_of(zero.get()), HasSubstr("calls do not match"));
  two_->close();
  const LostPe lost = await_loss(1);
  EXPECT_EQ(lost.pe, 2);
  EXPECT_TRUE(lost.ends_job);
  EXPECT_THAT(message_of(member(1).barrier()), HasSubstr("calls do not match"));
}

// Whoever heard of the failure is there, until it leaves; and hears of later losses.
TEST_P(LostMember, IsNobodyWhoHasHeardThatTheJobFailed) {
  two_->send(header_of(kBarrier, 5, 0));
  auto zero = std::async(std::launch::async, [&] { return member(0).barrier(); });
  EXPECT_THAT(message_of(zero.get()), HasSubstr("calls do not match"));
  EXPECT_THAT(message_of(member(1).barrier()), HasSubstr("calls do not match"));
  for (int look = 0; look < 20; ++look) {
    EXPECT_TRUE(member(0).take_losses().empty());
    EXPECT_TRUE(member(1).take_losses().empty());
    std::this_thread::sleep_for(5ms);
  }
  two_->close();
  EXPECT_EQ(await_loss(0).pe, 2);
  EXPECT_EQ(await_loss(1).pe, 2);
}

// An abort, and then the end of all: each leaves at once.
TEST_P(LostMember, OfAnAbortIsNotWaitedForAtTheEnd) {
  member(1).abort("it is enough");
  await_loss(0);
  const auto begin = std::chrono::steady_clock::now();
  members_.pop_back();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1900ms) << "it waited for an answer in vain";
}

// The same of one that leaves in an orderly way.
TEST_P(LostMember, IsOneThatLeavesAFailedJob) {
  two_->send(header_of(kBarrier, 5, 0));
  auto zero = std::async(std::launch::async, [&] { return member(0).barrier(); });
  EXPECT_THAT(message_of(zero.get()), HasSubstr("calls do not match"));
  two_->send(header_of(static_cast<std::uint32_t>(tcp_wire::FrameType::leave), 0, 0));
  const LostPe lost = await_loss(1);
  EXPECT_EQ(lost.pe, 2);
  EXPECT_TRUE(lost.ends_job);
  EXPECT_THAT(lost.why, HasSubstr("PE 2 has left the job, which has failed: collective calls do"));
}

INSTANTIATE_TEST_SUITE_P(Where, LostMember, testing::Values(PeerLoss::end, PeerLoss::go_on),
                         [](const auto& test) {
                           return test.param == PeerLoss::end ? "TheJobEnds" : "TheOthersGoOn";
                         });

class GoneOnWithout : public LostMember {};

TEST_P(GoneOnWithout, IsAMemberByBarriersAndNotByCallsThatTakeAll) {
  two_->close();
  for (int round = 0; round < 3; ++round) {
    for (const Result<void>& met : both([](Bootstrap& b) { return b.barrier(); })) {
      EXPECT_EQ(message_of(met), "no error");
    }
    for (const Result<void>& gathered : both(gather)) {
      ASSERT_FALSE(gathered);
      EXPECT_EQ(gathered.error().code(), Code::peer_lost);
      EXPECT_THAT(gathered.error().message(),
                  HasSubstr("takes all PEs of the job, and PE 2 is lost"));
    }
  }
}

// It had come to the call that the others are in.
TEST_P(GoneOnWithout, IsAMemberThatDiesAsItWaits) {
  two_->send(header_of(kBarrier, 1, 0));
  std::this_thread::sleep_for(50ms);
  two_->close();
  await_loss(0);
  for (const Result<void>& met : both([](Bootstrap& b) { return b.barrier(); })) {
    EXPECT_EQ(message_of(met), "no error");
  }
}

INSTANTIATE_TEST_SUITE_P(Where, GoneOnWithout, testing::Values(PeerLoss::go_on),
                         [](const auto&) { return "TheOthersGoOn"; });

// Before all have joined there is no job that could go on.
TEST(LostPes, BeforeAllHaveJoinedEndTheJob) {
  const TcpJob job(3);
  LaunchInfo info = job.info(0);
  info.peer_loss = PeerLoss::go_on;
  auto zero = std::async(std::launch::async,
                         [&] { return open_tcp_bootstrap(info, Log(LogLevel::error)); });
  {
    RawClient two(job);
    EXPECT_EQ(shake_hands(two, job, 2, job.secret), tcp_wire::Verdict::accepted);
    two.send(header_of(kJoin, 0, 0));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(message_of(zero.get()), kGone);
}

// The raw side is the hub here: it admits PE 1, answers its join, and dies.
TEST(LostPes, CanBePe0WhichHostsTheBootstrap) {
  const TcpJob job(2);
  auto one = std::async(std::launch::async,
                        [&] { return open_tcp_bootstrap(job.info(1), Log(LogLevel::error)); });
  {
    const UniqueFileDescriptor peer(::accept(job.listener.get(), nullptr, nullptr));
    tcp_wire::FrameHeader call{};
    welcome_member(peer.get(), job.secret, 2);
    ASSERT_EQ(::recv(peer.get(), &call, sizeof(call), MSG_WAITALL), ssize_t{sizeof(call)});
    const auto answer = header_of(static_cast<std::uint32_t>(tcp_wire::FrameType::answer), 0, 0);
    ASSERT_EQ(::send(peer.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
  }
  const auto member = one.get();
  ASSERT_TRUE(member) << member.error().message();
  std::vector<LostPe> lost;
  for (int look = 0; look < 2000 && lost.empty(); ++look) {
    lost = (*member)->take_losses();
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].pe, 0);
  EXPECT_TRUE(lost[0].ends_job);
  EXPECT_THAT(lost[0].why, HasSubstr("PE 0, which hosts the bootstrap, is gone"));
  EXPECT_TRUE((*member)->take_losses().empty()) << "it is told once";
}

TEST(LostPes, AmongThreadsOfOneProcessIsWhoeverAborts) {
  auto members = make_local_bootstraps(2, 20s);
  ASSERT_TRUE(members);
  EXPECT_TRUE((*members)[0]->take_losses().empty());
  (*members)[1]->abort("it is enough");
  const std::vector<LostPe> lost = (*members)[0]->take_losses();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].pe, 1);
  EXPECT_TRUE(lost[0].ends_job);
  EXPECT_EQ(lost[0].why, "PE 1 ended the job: it is enough");
  EXPECT_TRUE((*members)[0]->take_losses().empty());
  EXPECT_TRUE((*members)[1]->take_losses().empty());
}

std::vector<int> pes_of(const std::vector<LostPe>& losses) {
  std::vector<int> pes;
  for (const LostPe& lost : losses) {
    EXPECT_TRUE(lost.ends_job);
    pes.push_back(lost.pe);
  }
  return pes;
}

// Kernels of those that are still there may wait for any of them.
TEST(LostPes, AmongThreadsOfOneProcessAreAllThatLeaveAFailedJob) {
  auto members = make_local_bootstraps(5, 20s);
  ASSERT_TRUE(members);
  const auto losses_of = [&](int rank) {
    return (*members)[static_cast<std::size_t>(rank)]->take_losses();
  };
  const auto leave = [&](int rank) { (*members)[static_cast<std::size_t>(rank)].reset(); };
  leave(4);  // before anything has failed
  (*members)[3]->abort("it is enough");
  leave(2);
  const std::vector<LostPe> first = losses_of(0);
  EXPECT_THAT(pes_of(first), ElementsAre(3, 2));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].why,
            "PE 2 has left the job, which has failed: PE 3 ended the job: it is enough");
  EXPECT_THAT(pes_of(losses_of(3)), ElementsAre(2));
  leave(3);
  EXPECT_THAT(losses_of(0), IsEmpty()) << "of PE 3 it knows";
  EXPECT_THAT(pes_of(losses_of(1)), ElementsAre(3, 2));
  leave(1);
  EXPECT_THAT(pes_of(losses_of(0)), ElementsAre(1));
  EXPECT_THAT(losses_of(0), IsEmpty());
}

}  // namespace
}  // namespace gdakit::testing_bootstrap

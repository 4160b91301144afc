// What backend mlx5 says of its queues, and which of them it finds broken.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/cqe.h"
#include "core/host/stall.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint8_t kReset = 0, kRts = 3, kError = 6;

class BrokenQueues : public PlayedBackend {
 protected:
  explicit BrokenQueues(void (*prepare)() = [] {}) : PlayedBackend(prepare) {
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      std::memset(blocks_[block].cqe(), format::kInvalidCqeByte, 64);
      queues_.push_back(create(block)->number);
    }
  }

  // An error's CQE, in the place of the queue's.
  void fail(std::size_t queue, format::Syndrome syndrome) {
    format::ErrorCqe cqe{};
    cqe.syndrome = static_cast<std::uint8_t>(syndrome);
    cqe.s_wqe_opcode_qpn = Be32{0x08000000 | queues_[queue]};
    cqe.wqe_counter = Be16{17};
    cqe.op_own = format::op_own(format::CqeOpcode::requester_error, false);
    std::memcpy(blocks_[queue].cqe(), &cqe, sizeof cqe);
  }
  std::size_t asked() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        played().commands, [](const auto& bytes) { return bytes[0] == 0x05 && bytes[1] == 0x0b; }));
  }

  // The NIC tells that a peer has broken the queue.
  void tell(std::size_t queue, std::uint16_t event) {
    played().events.push_back(played().cookies.at({queues_[queue], event}));
  }

  std::vector<QueueNumber> queues_;
};

// The kernel has no events: firmware is asked.
class AskedQueues : public BrokenQueues {
 protected:
  AskedQueues()
      : BrokenQueues([] {
          played().errors = {{"mlx5dv_devx_create_event_channel", EOPNOTSUPP}};
        }) {}
};

TEST_F(BrokenQueues, AreNoneWhereAllIsWell) {
  for (int look = 0; look < 10; ++look) EXPECT_THAT(backend_->broken_queues(), IsEmpty());
}

TEST_F(BrokenQueues, AreFoundAtOnceByTheirCqe) {
  fail(7, format::Syndrome::remote_access);
  const auto broken = backend_->broken_queues();
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].number, queues_[7]);
  EXPECT_THAT(broken[0].why, AllOf(HasSubstr(describe(format::Syndrome::remote_access)),
                                   HasSubstr("at WQE 17"), HasSubstr("RDMA_WRITE")));
}

TEST_F(BrokenQueues, KeepTheirFirstReason) {
  fail(0, format::Syndrome::remote_access);
  const std::string why = backend_->broken_queues().at(0).why;
  fail(0, format::Syndrome::flushed);
  EXPECT_EQ(backend_->broken_queues().at(0).why, why);
}

// The flush of later WQEs has taken the CQE of the first error.
TEST_F(BrokenQueues, WithAFlushedCqeSayThatItHidesTheFirstError) {
  fail(0, format::Syndrome::flushed);
  EXPECT_THAT(backend_->broken_queues().at(0).why,
              AllOf(HasSubstr("the first error was overwritten by those of flushed WQEs"),
                    HasSubstr("GDAKIT_NIC_HANDLER=commands")));
}

TEST_F(BrokenQueues, WithAFlushedCqeSayWhichErrorsTheNicHasCounted) {
  played().counted = {{"req_remote_access_errors", 3}, {"req_cqe_flush_error", 7}};
  fail(0, format::Syndrome::flushed);
  EXPECT_THAT(backend_->broken_queues().at(0).why,
              AllOf(HasSubstr("for all queues that this PE has on it, 3 of "
                              "req_remote_access_errors"),
                    Not(HasSubstr("req_cqe_flush_error"))));
}

class RememberedErrors : public BrokenQueues {
 protected:
  RememberedErrors() : BrokenQueues([] { played().tells_first_error = true; }) {}
};

TEST_F(RememberedErrors, AreAskedForWhereTheCqeIsOfAFlush) {
  played().first_error = static_cast<std::uint8_t>(format::Syndrome::remote_access);
  fail(0, format::Syndrome::flushed);
  fail(1, format::Syndrome::rnr_retry_exceeded);
  const auto broken = backend_->broken_queues();
  EXPECT_EQ(broken.at(0).why,
            describe(format::Syndrome::remote_access) + ", as the firmware remembers it");
  EXPECT_THAT(broken.at(1).why, HasSubstr(describe(format::Syndrome::rnr_retry_exceeded)));
  EXPECT_EQ(asked(), 1u);
  EXPECT_EQ(played().sent.at("050b")[8], 0x80) << "the extension is asked for";
}

TEST_F(RememberedErrors, ThatAreNoneAreNotTold) {
  played().first_error = static_cast<std::uint8_t>(format::Syndrome::flushed);
  fail(0, format::Syndrome::flushed);
  EXPECT_THAT(backend_->broken_queues().at(0).why, HasSubstr("was overwritten"));
}

TEST_F(RememberedErrors, OfAQueueThatHasNotFailedItselfAreThePeers) {
  played().first_error = static_cast<std::uint8_t>(format::Syndrome::remote_access);
  played().queue_state = kError;
  EXPECT_THAT(backend_->describe_queue(queues_[0]), HasSubstr("on the receiving side"));
}

// What peers have broken the NIC tells by itself, and firmware is not asked.
TEST_F(BrokenQueues, AreFoundByTheirEvents) {
  tell(6, 0x11);
  tell(2, 0x10);
  const auto broken = backend_->broken_queues();
  ASSERT_EQ(broken.size(), 2u);
  EXPECT_EQ(broken[0].number, queues_[2]);
  EXPECT_THAT(broken[0].why, HasSubstr("does not do"));
  EXPECT_THAT(broken[1].why, HasSubstr("memory that it may not touch"));
  EXPECT_EQ(backend_->broken_queues().size(), 2u);
  EXPECT_EQ(asked(), 0u);
}

TEST_F(BrokenQueues, AreFoundAtOneLookHoweverManyThereAre) {
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) tell(queue, 0x05);
  EXPECT_EQ(backend_->broken_queues().size(), queues_.size());
}

TEST_F(BrokenQueues, HaveTheErrorOfTheirCqeWhateverEventsTell) {
  fail(1, format::Syndrome::remote_access);
  tell(1, 0x11);
  EXPECT_THAT(backend_->broken_queues().at(0).why, HasSubstr("at WQE 17"));
}

TEST_F(BrokenQueues, DoNotTakeTheEventOfAQueueThatWasDestroyed) {
  tell(3, 0x11);
  EXPECT_TRUE(backend_->destroy_queue(queues_[3]));
  played().next_object = queues_[2] + 1;  // numbers are given again
  const auto again = create(3);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->number, queues_[3]);
  EXPECT_THAT(backend_->broken_queues(), IsEmpty());
}

TEST_F(BrokenQueues, ThatCouldNotSubscribeAreAskedAbout) {
  EXPECT_TRUE(backend_->destroy_queue(queues_[7]));
  played().errors = {{"mlx5dv_devx_subscribe_devx_event", ENOMEM}};
  ASSERT_TRUE(create(7));
  played().queue_state = kError;
  EXPECT_EQ(backend_->broken_queues().size(), 1u);
}

// A few are asked about at each look, and all after some.
TEST_F(AskedQueues, AreAFewAtALook) {
  played().queue_state = kError;
  EXPECT_EQ(backend_->broken_queues().size(), 4u);
  EXPECT_EQ(asked(), 4u);
  const auto broken = backend_->broken_queues();
  EXPECT_EQ(broken.size(), queues_.size());
  EXPECT_EQ(asked(), 8u);
  EXPECT_THAT(broken[5].why, HasSubstr("the queue pair is in error"));
  backend_->broken_queues();
  EXPECT_EQ(asked(), 8u);  // of those that are known to be broken nothing is asked
}

TEST_F(AskedQueues, AreBrokenIfFirmwareDoesNotKnowThem) {
  played().errors = {{"050b", EREMOTEIO}};
  for (const std::uint8_t status : {0x05, 0x09, 0x0a, 0x10}) {
    played().status = status;
    const auto broken = backend_->broken_queues();
    ASSERT_FALSE(broken.empty()) << "status " << int{status};
    EXPECT_THAT(broken[0].why,
                AllOf(HasSubstr("QUERY_QP on rocep1s0"), HasSubstr("the firmware's status is")));
    for (QueueNumber& queue : queues_) {
      EXPECT_TRUE(backend_->destroy_queue(queue));
      queue = create(static_cast<std::size_t>(&queue - queues_.data()))->number;
    }
  }
}

TEST_F(AskedQueues, AreBrokenIfTheirNicIsDead) {
  for (const int dead : {EIO, ENODEV}) {
    played().errors = {{"050b", dead}};
    EXPECT_FALSE(backend_->broken_queues().empty()) << dead;
    for (const QueueNumber queue : std::exchange(queues_, {})) {
      EXPECT_TRUE(backend_->destroy_queue(queue));
    }
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      queues_.push_back(create(block)->number);
    }
  }
}

// A call that fails for a reason of its own says nothing of the queue, which is asked about again.
TEST_F(AskedQueues, AreNotBrokenByACallThatFails) {
  for (const int failure : {EINTR, EAGAIN, ENOMEM, EBUSY, ETIMEDOUT, EINVAL}) {
    played().errors = {{"050b", failure}};
    for (int look = 0; look < 4; ++look) {
      EXPECT_THAT(backend_->broken_queues(), IsEmpty()) << std::strerror(failure);
    }
  }
  played().errors = {{"050b", EREMOTEIO}};
  for (const std::uint8_t status : {0x01, 0x02, 0x06, 0x08, 0x0f}) {
    played().status = status;
    EXPECT_THAT(backend_->broken_queues(), IsEmpty()) << "status " << int{status};
  }
  played().errors.clear();
  played().queue_state = kError;
  backend_->broken_queues();
  EXPECT_EQ(backend_->broken_queues().size(), queues_.size());
}

TEST_F(BrokenQueues, AreForgottenOnceTheyAreDestroyed) {
  fail(2, format::Syndrome::remote_access);
  EXPECT_EQ(backend_->broken_queues().size(), 1u);
  EXPECT_TRUE(backend_->destroy_queue(queues_[2]));
  EXPECT_THAT(backend_->broken_queues(), IsEmpty());
}

TEST_F(AskedQueues, AreAskedAboutInTurnWhateverIsDestroyedMeanwhile) {
  backend_->broken_queues();
  for (const std::size_t queue : {3, 4, 7}) EXPECT_TRUE(backend_->destroy_queue(queues_[queue]));
  played().queue_state = kError;
  backend_->broken_queues();
  EXPECT_EQ(backend_->broken_queues().size(), 5u);
}

TEST_F(BrokenQueues, AreDescribedByTheirState) {
  const std::string name = "QP " + std::to_string(queues_[0]) + " of rocep1s0 is in state ";
  const auto describe_as = [this](std::uint8_t state) {
    played().queue_state = state;
    return backend_->describe_queue(queues_[0]);
  };
  EXPECT_EQ(describe_as(kReset), name + "reset");
  EXPECT_EQ(describe_as(kRts), name + "rts");
  EXPECT_EQ(describe_as(9), name + "unknown");
  EXPECT_THAT(describe_as(kError),
              AllOf(HasSubstr(name + "err; first error: "), HasSubstr("does not tell by what")));
  fail(0, format::Syndrome::transport_retry_exceeded);
  EXPECT_THAT(describe_as(kError), HasSubstr(describe(format::Syndrome::transport_retry_exceeded)));
  EXPECT_THAT(describe_as(kRts), Not(HasSubstr("first error")));
}

TEST_F(BrokenQueues, AreDescribedByWhatFailedWhereFirmwareDoesNotAnswer) {
  played().errors = {{"050b", EIO}};
  EXPECT_THAT(backend_->describe_queue(queues_[0]),
              AllOf(HasSubstr("QUERY_QP"), HasSubstr(std::strerror(EIO))));
  EXPECT_THAT(backend_->describe_queue(1), HasSubstr("describe_queue: there is no queue 1"));
}

}  // namespace
}  // namespace gdakit::mlx5

// What backend mlx5 says of its queues, and which of them it finds broken.
#include <algorithm>
#include <cerrno>
#include <cstring>

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
  BrokenQueues() {
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

  std::vector<QueueNumber> queues_;
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
TEST_F(BrokenQueues, WithAFlushedCqeDoNotKnowWhy) {
  fail(0, format::Syndrome::flushed);
  EXPECT_THAT(backend_->broken_queues().at(0).why, HasSubstr("does not tell by what"));
}

// What peers have broken: a few are asked about at each look, and all after some.
TEST_F(BrokenQueues, AreFoundByTheFirmwareAFewAtALook) {
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

TEST_F(BrokenQueues, AreThoseThatFirmwareDoesNotKnow) {
  played().errors = {{"050b", EREMOTEIO}};
  played().status = 0x05;
  const auto broken = backend_->broken_queues();
  ASSERT_EQ(broken.size(), 4u);
  EXPECT_THAT(broken[0].why, AllOf(HasSubstr("QUERY_QP on rocep1s0"), HasSubstr("bad resource")));
}

TEST_F(BrokenQueues, AreForgottenOnceTheyAreDestroyed) {
  fail(2, format::Syndrome::remote_access);
  EXPECT_EQ(backend_->broken_queues().size(), 1u);
  EXPECT_TRUE(backend_->destroy_queue(queues_[2]));
  EXPECT_THAT(backend_->broken_queues(), IsEmpty());
}

TEST_F(BrokenQueues, AreAskedAboutInTurnWhateverIsDestroyedMeanwhile) {
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

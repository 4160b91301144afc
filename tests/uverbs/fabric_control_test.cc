// Requests to members of a fabric, and answers.
#include "backends/softnic/uverbs/fabric_control.h"

#include <chrono>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

using namespace std::chrono_literals;

// A member of a fabric of its own, which repeats what it is asked.
class UverbsControl : public testing::Test {
 protected:
  UverbsControl() {
    Result<Membership> joined = join_fabric(fabric_);
    if (!joined) return;
    membership_.emplace(std::move(*joined));
    control_.emplace(std::move(membership_->listed), [](const std::string& request) {
      return request == "no" ? Result<std::string>(Error(Code::invalid_argument, "it is a no"))
                             : Result<std::string>(request + std::string(kMany, '.'));
    });
  }

  Member member() const { return fabric_members(fabric_).at(0); }

  static constexpr std::size_t kMany = 100'000;  // more than a message holds

 private:
  const std::string fabric_ = "control-" + std::to_string(::getpid());
  std::optional<Membership> membership_;
  std::optional<FabricControl> control_;
};

TEST_F(UverbsControl, AnswersWholeOrSaysWhyNot) {
  const Result<std::string> answer = ask(member(), "yes");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "yes" + std::string(kMany, '.'));
  const Result<std::string> refusal = ask(member(), "no");
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().message(), "it is a no");
}

TEST_F(UverbsControl, AnswersAgainOnceThereIsADescriptor) {
  const Member asked = member();
  auto waiting = connect_to(asked);
  ASSERT_TRUE(waiting) << waiting.error().message();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::this_thread::sleep_for(50ms);  // it cannot take the connection
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  waiting->reset();
  const Result<std::string> answer = ask(asked, "yes");
  EXPECT_TRUE(answer) << answer.error().message();
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

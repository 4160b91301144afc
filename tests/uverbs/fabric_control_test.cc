// Requests to members of a fabric, and answers.
#include "backends/softnic/uverbs/fabric_control.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/socket_name.h"

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

// Under a name of this process's on a fabric of its own, as anybody may bind it.
UniqueFileDescriptor listen_as(const std::string& name) {
  UniqueFileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const SocketName at(name);
  if (::bind(socket.get(), at.get(), at.bytes) != 0 || ::listen(socket.get(), 0) != 0) {
    throw std::runtime_error("cannot listen as " + name);
  }
  return socket;
}

Member made_up_member(const char* what) {
  return {.pid = ::getpid(),
          .segment = 0,
          .place = 0,
          .name = what + std::string("-") + std::to_string(::getpid())};
}

TEST(UverbsMadeUpMembers, OneWhoTakesNoConnectionIsGivenUp) {
  const Member member = made_up_member("deaf");
  const UniqueFileDescriptor deaf = listen_as(member.name);
  std::vector<UniqueFileDescriptor> waiting;
  const SocketName at(member.name);
  do {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  } while (::connect(waiting.back().get(), at.get(), at.bytes) == 0);
  const Result<std::string> answer = ask(member, "state");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::timed_out);
}

TEST(UverbsMadeUpMembers, OneOfAnotherUserIsNotAsked) {
  if (::getuid() != 0) GTEST_SKIP() << "only root becomes another user";
  const Member member = made_up_member("foreign");
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(1);
    const UniqueFileDescriptor socket = listen_as(member.name);
    if (::write(ready[1], "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const Result<std::string> answer = ask(member, "state");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::permission_denied) << answer.error().message();
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

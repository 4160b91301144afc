// What only TCP has: joining, strangers, connections that break.
#include "core/host/bootstrap/tcp_bootstrap.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/tcp_wire.h"
#include "tests/host/bootstrap_job.h"
#include "tests/host/raw_client.h"

namespace gdakit::testing_bootstrap {
namespace {

using tcp_wire::FrameHeader;
using tcp_wire::FrameType;
using tcp_wire::Hello;
using tcp_wire::Welcome;
using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;

const Log kQuiet(LogLevel::error);

// A job of two works while `disturb` does its worst.
void expect_undisturbed(const std::function<void(const TcpJob&)>& disturb) {
  const TcpJob job(2);
  std::promise<void> disturbed;
  auto zero = std::async(std::launch::async, [&] {
    auto member = open_tcp_bootstrap(job.info(0), kQuiet);
    ASSERT_TRUE(member) << member.error().message();
    EXPECT_TRUE((*member)->barrier());
  });
  disturb(job);
  auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_TRUE((*one)->barrier());
  zero.get();
}

// The error of a member that comes with `spoil` done to what it should know.
std::string refusal(const std::function<void(LaunchInfo&)>& spoil) {
  std::string message;
  expect_undisturbed([&](const TcpJob& job) {
    LaunchInfo info = job.info(1);
    spoil(info);
    message = message_of(open_tcp_bootstrap(info, kQuiet));
  });
  return message;
}

TEST(TcpBootstrap, AWrongSecretIsRefusedOnBothSides) {
  testing::internal::CaptureStderr();
  const TcpJob job(2, 500ms);
  auto zero = std::async(std::launch::async, [&] {
    return message_of(open_tcp_bootstrap(job.info(0), Log(LogLevel::warn, 0)));
  });
  LaunchInfo info = job.info(1);
  info.secret[15] ^= 1;
  const auto one = open_tcp_bootstrap(info, kQuiet);
  EXPECT_EQ(zero.get(), "join timed out after 0.5 s: no message from PE 1");
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code(), Code::permission_denied);
  EXPECT_THAT(one.error().message(), AllOf(HasSubstr("refused"), HasSubstr("GDAKIT_SECRET")));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("gdakit[pe 0] warn: "), HasSubstr("refused 127.0.0.1"),
                    HasSubstr("GDAKIT_SECRET")));
}

TEST(TcpBootstrap, AWrongSecretDoesNotDisturbTheJob) {
  EXPECT_THAT(refusal([](LaunchInfo& info) { info.secret[0] ^= 0x80; }),
              HasSubstr("GDAKIT_SECRET"));
}

TEST(TcpBootstrap, AnotherSizeIsRefused) {
  EXPECT_THAT(refusal([](LaunchInfo& info) { info.size = 3; }),
              AllOf(HasSubstr("PE 1 of 3"), HasSubstr("the job has 2 PEs")));
}

TEST(TcpBootstrap, ASecondProcessOfOneRankIsRefused) {
  const TcpJob job(2);
  std::promise<void> tried;
  auto zero = std::async(std::launch::async, [&] {
    auto member = open_tcp_bootstrap(job.info(0), kQuiet);
    ASSERT_TRUE(member) << member.error().message();
    EXPECT_TRUE((*member)->barrier());
  });
  auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  EXPECT_THAT(message_of(open_tcp_bootstrap(job.info(1), kQuiet)),
              AllOf(HasSubstr("joined already"), HasSubstr("GDAKIT_RANK")));
  ASSERT_TRUE(one);
  EXPECT_TRUE((*one)->barrier());
  zero.get();
}

TEST(TcpBootstrap, ARankThatTheJobDoesNotHaveIsRefused) {
  expect_undisturbed([](const TcpJob& job) {
    RawClient client(job);
    EXPECT_EQ(shake_hands(client, job, 2, job.secret), tcp_wire::Verdict::rank_out_of_range);
  });
}

TEST(TcpBootstrap, AnotherVersionOfTheProtocolIsRefused) {
  expect_undisturbed([](const TcpJob& job) {
    RawClient client(job);
    Hello hello = hello_of(job, 1);
    hello.version = Be32(tcp_wire::kVersion + 1);
    client.send(hello);
    Welcome welcome{};
    ASSERT_TRUE(client.receive(welcome));
    EXPECT_EQ(welcome.verdict, static_cast<std::uint32_t>(tcp_wire::Verdict::wrong_version));
    EXPECT_EQ(welcome.version, tcp_wire::kVersion);
  });
}

TEST(TcpBootstrap, AStrangerThatSendsGarbageIsClosedWithoutAnAnswer) {
  expect_undisturbed([](const TcpJob& job) {
    RawClient client(job);
    const std::string garbage = "GET / HTTP/1.1\r\nHost: gdakit.example\r\n\r\n............";
    client.send_bytes(garbage.data(), garbage.size());
    Welcome welcome{};
    EXPECT_FALSE(client.receive(welcome));
  });
}

TEST(TcpBootstrap, StrangersCannotFillTheLog) {
  testing::internal::CaptureStderr();
  const TcpJob job(2);
  auto zero = std::async(std::launch::async,
                         [&] { return open_tcp_bootstrap(job.info(0), Log(LogLevel::warn, 0)); });
  for (int i = 0; i < 100; ++i) {
    RawClient stranger(job);
    stranger.send(Hello{});
    std::byte nothing{};
    EXPECT_FALSE(stranger.receive(nothing));
  }
  const auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  EXPECT_TRUE(one && zero.get());
  const std::string text = testing::internal::GetCapturedStderr();
  // Eight of them, and when there were 16, 32 and 64.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8 + 3) << text;
  EXPECT_THAT(text, HasSubstr("warn: bootstrap: refused 64 connections so far, the last one 127."));
}

TEST(TcpBootstrap, SilentStrangersDelayNobody) {
  std::vector<std::unique_ptr<RawClient>> strangers;
  const auto begin = std::chrono::steady_clock::now();
  expect_undisturbed([&](const TcpJob& job) {
    for (int i = 0; i < 100; ++i) strangers.push_back(std::make_unique<RawClient>(job));
    strangers.front()->send(std::uint32_t{7});  // a part of a handshake
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(TcpBootstrap, ASilentStrangerIsClosedAfterTheTimeout) {
  const TcpJob job(2, 500ms);
  auto zero =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(0), kQuiet); });
  const auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  const auto hub_owner = zero.get();
  ASSERT_TRUE(one);
  ASSERT_TRUE(hub_owner);
  RawClient stranger(job);
  std::byte nothing{};
  EXPECT_FALSE(stranger.receive(nothing)) << "the job lives on, and yet the connection ends";
}

TEST(TcpBootstrap, APeThatDiesFailsThePendingCallAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = barrier_beside([](const TcpJob& job) {
    const auto client = join_raw(job);
    std::this_thread::sleep_for(50ms);
    client->close();
  });
  EXPECT_EQ(message, "PE 1 is gone: the connection was closed before it left the job");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(TcpBootstrap, APeThatDiesInTheMiddleOfAMessageIsNamed) {
  EXPECT_THAT(barrier_beside([](const TcpJob& job) {
                const auto client = join_raw(job);
                client->send(header_of(kBarrier, 1, 100));
                client->send(std::uint32_t{0});
              }),
              HasSubstr("PE 1 is gone"));
}

TEST(TcpBootstrap, WhenPe0DiesTheOthersSaySo) {
  // The raw side is the hub here: it admits PE 1, answers its join, and dies in the barrier.
  const TcpJob job(2);
  auto one = std::async(std::launch::async, [&] {
    auto member = open_tcp_bootstrap(job.info(1), kQuiet);
    return member ? message_of((*member)->barrier()) : member.error().message();
  });
  {
    const UniqueFileDescriptor peer(::accept(job.listener.get(), nullptr, nullptr));
    FrameHeader call{};
    welcome_member(peer.get(), job.secret, 2);
    ASSERT_EQ(::recv(peer.get(), &call, sizeof(call), MSG_WAITALL), ssize_t{sizeof(call)});
    const FrameHeader answer = header_of(static_cast<std::uint32_t>(FrameType::answer), 0, 0);
    ASSERT_EQ(::send(peer.get(), &answer, sizeof(answer), 0), ssize_t{sizeof(answer)});
    ASSERT_EQ(::recv(peer.get(), &call, sizeof(call), MSG_WAITALL), ssize_t{sizeof(call)});
  }
  EXPECT_THAT(one.get(), AllOf(HasSubstr("PE 0"), HasSubstr("is gone"), HasSubstr("barrier")));
}

TEST(TcpBootstrap, AHubThatDoesNotAnswerIsATimeout) {
  const TcpJob job(2, 200ms);
  EXPECT_THAT(message_of(open_tcp_bootstrap(job.info(1), kQuiet)),
              AllOf(HasSubstr("PE 1 could not join PE 0 at 127.0.0.1"), HasSubstr("within 0.2 s"),
                    HasSubstr("did not answer")));
}

TEST(TcpBootstrap, WhatIsNoHubIsRecognised) {
  const TcpJob job(2);
  auto one = std::async(std::launch::async,
                        [&] { return message_of(open_tcp_bootstrap(job.info(1), kQuiet)); });
  const UniqueFileDescriptor peer(::accept(job.listener.get(), nullptr, nullptr));
  const std::string answer = "SSH-2.0-OpenSSH_9.2p1 and more than that";
  ASSERT_GT(::send(peer.get(), answer.data(), answer.size(), 0), 0);
  EXPECT_THAT(one.get(), HasSubstr("is not a gdakit job"));
}

TEST(TcpBootstrap, APeThatDoesNotJoinIsNamed) {
  const TcpJob job(3, 300ms);
  EXPECT_EQ(message_of(open_tcp_bootstrap(job.info(0), kQuiet)),
            "join timed out after 0.3 s: no message from PE 1, PE 2");
}

TEST(TcpBootstrap, NobodyListeningIsATimeoutThatSaysSo) {
  TcpJob job(2, 200ms);
  job.listener.reset();
  EXPECT_THAT(message_of(open_tcp_bootstrap(job.info(1), kQuiet)),
              AllOf(HasSubstr("PE 1 could not join PE 0 at 127.0.0.1:"), HasSubstr("within 0.2 s"),
                    HasSubstr("Connection refused; PE 0 listens there from its init until"),
                    HasSubstr("(GDAKIT_ROOT)"), HasSubstr("GDAKIT_TIMEOUT")));
}

// An hour's timeout, which the test does not wait for.
TEST(TcpBootstrap, WhereTheLauncherKeepsThePortAClosedOneIsNoReasonToWait) {
  TcpJob job(2, std::chrono::hours(1));
  job.listener.reset();
  LaunchInfo info = job.info(1);
  info.launcher_keeps_port = true;
  const auto late = open_tcp_bootstrap(info, kQuiet);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::aborted);
  EXPECT_THAT(late.error().message(),
              AllOf(HasSubstr("PE 1 came too late to join PE 0 at 127.0.0.1:"),
                    HasSubstr("PE 0 has ended")));
}

TEST(TcpBootstrap, Pe0MayComeLastAndBindsItsAddressItself) {
  TcpJob job(2);
  job.listener.reset();
  auto one = std::async(std::launch::async, [&] {
    auto member = open_tcp_bootstrap(job.info(1), kQuiet);
    return member ? message_of((*member)->barrier()) : member.error().message();
  });
  std::this_thread::sleep_for(100ms);
  LaunchInfo info = job.info(0);
  info.listen_fd.reset();
  auto zero = open_tcp_bootstrap(info, kQuiet);
  ASSERT_TRUE(zero) << zero.error().message();
  EXPECT_TRUE((*zero)->barrier());
  EXPECT_EQ(one.get(), "no error");
}

TEST(TcpBootstrap, AnAddressInUseIsAClearError) {
  const TcpJob job(2);
  LaunchInfo info = job.info(0);
  info.listen_fd.reset();
  EXPECT_THAT(message_of(open_tcp_bootstrap(info, kQuiet)),
              AllOf(HasSubstr("bind to 127.0.0.1:"), HasSubstr("Address already in use")));
}

TEST(TcpBootstrap, ADescriptorThatDoesNotListenIsRefused) {
  LaunchInfo info = TcpJob(2).info(0);
  info.listen_fd = 0;
  EXPECT_THAT(message_of(open_tcp_bootstrap(info, kQuiet)),
              AllOf(HasSubstr("GDAKIT_LISTEN_FD"), HasSubstr("descriptor 0")));
  const UniqueFileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  info.listen_fd = socket.get();
  EXPECT_THAT(message_of(open_tcp_bootstrap(info, kQuiet)), HasSubstr("does not listen"));
}

// Where IPv6 has been switched off, its loopback is not there, but a socket for it is.
TEST(TcpListener, OnAllAddressesIsReachedByTheLoopbackOfIpv4) {
  const Result<UniqueFileDescriptor> listener = open_listener("", 0);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(listener_address(listener->get())->host, "127.0.0.1");
}

TEST(TcpBootstrap, AJobMeetsAtASocketForAllAddresses) {
  TcpJob job(2);
  job.listener = std::move(*open_listener("", 0));
  job.address = *listener_address(job.listener.get());
  run_members(2, [&](int rank) {
    auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
    ASSERT_TRUE(member) << member.error().message();
    EXPECT_TRUE((*member)->barrier());
  });
}

std::set<int> sockets_open_on_exec() {
  std::set<int> found;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    struct stat status {};
    const int flags = ::fcntl(descriptor, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0 || ::fstat(descriptor, &status) != 0) continue;
    if (S_ISSOCK(status.st_mode)) found.insert(descriptor);
  }
  return found;
}

TEST(TcpBootstrap, ProgramsThatAPeStartsDoNotKeepItsConnections) {
  const std::set<int> before = sockets_open_on_exec();
  const TcpJob job(3);
  run_members(3, [&](int rank) {
    auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
    ASSERT_TRUE(member) << member.error().message();
    ASSERT_TRUE((*member)->barrier());
    if (rank == 0) {
      EXPECT_EQ(sockets_open_on_exec(), before);
    }
    ASSERT_TRUE((*member)->barrier());
  });
}

TEST(TcpBootstrap, WhatPe0EndsTheJobForReachesAll) {
  for (int round = 0; round < 20; ++round) {
    const TcpJob job(3);
    run_members(3, [&](int rank) {
      auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
      ASSERT_TRUE(member) << member.error().message();
      if (rank == 0) return (*member)->abort("no more paper");  // and leaves at once
      EXPECT_EQ(message_of((*member)->barrier()), "PE 0 ended the job: no more paper");
    });
  }
}

TEST(TcpBootstrap, AnotherThreadMayEndTheJobDuringACall) {
  const TcpJob job(2);
  run_members(2, [&](int rank) {
    auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
    ASSERT_TRUE(member) << member.error().message();
    std::thread other([&] {
      std::this_thread::sleep_for(100ms);
      if (rank == 1) (*member)->abort("enough");
    });
    if (rank == 1) {
      // The latter if this thread comes to its call after 100 ms only.
      EXPECT_THAT(message_of((*member)->barrier()),
                  AnyOf("PE 1 ended the job: enough", "this PE ended the job: enough"));
    } else {
      std::this_thread::sleep_for(300ms);
      EXPECT_EQ(message_of((*member)->barrier()), "PE 1 ended the job: enough");
    }
    other.join();
  });
}

// One thread's calls begin and end while the other one ends the job.
TEST(TcpBootstrap, AnotherThreadMayEndTheJobBetweenCalls) {
  for (int round = 0; round < 20; ++round) {
    const TcpJob job(2);
    run_members(2, [&](int rank) {
      auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
      ASSERT_TRUE(member) << member.error().message();
      std::thread other([&] {
        if (rank == 1) (*member)->abort("enough");
      });
      Result<void> met;
      while (met) met = (*member)->barrier();
      other.join();
      EXPECT_THAT(message_of(met),
                  EndsWith(rank == 1 ? "ended the job: enough" : "PE 1 ended the job: enough"));
    });
  }
}

TEST(TcpBootstrap, AJobMayBeOpenedAgainOnTheSameSocket) {
  const TcpJob job(4);
  run_members(4, [&](int rank) {
    for (int round = 0; round < 5; ++round) {
      auto member = open_tcp_bootstrap(job.info(rank), kQuiet);
      ASSERT_TRUE(member) << member.error().message();
      ASSERT_TRUE((*member)->barrier());
    }
  });
}

TEST(TcpBootstrap, APeThatComesBackBeforePe0HasLeftTriesAgain) {
  testing::internal::CaptureStderr();
  const TcpJob job(2);
  run_members(2, [&](int rank) {
    const Log log(LogLevel::warn, rank);
    auto first = open_tcp_bootstrap(job.info(rank), log);
    ASSERT_TRUE(first) << first.error().message();
    if (rank == 0) std::this_thread::sleep_for(200ms);  // PE 1 meets the old hub
    first->reset();
    auto second = open_tcp_bootstrap(job.info(rank), log);
    EXPECT_TRUE(second) << second.error().message();
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // it is nobody's fault
}

}  // namespace
}  // namespace gdakit::testing_bootstrap

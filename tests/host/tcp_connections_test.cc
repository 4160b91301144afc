// The connections of a TCP bootstrap: who inherits them, who has none left, and when they end.
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/bootstrap/tcp_hub.h"
#include "tests/host/raw_client.h"

namespace gdakit::testing_bootstrap {
namespace {

using tcp_wire::FrameHeader;
using tcp_wire::FrameType;
using tcp_wire::Verdict;
using testing::AllOf;
using testing::HasSubstr;

const Log kQuiet(LogLevel::error);

// Of this process, by what they lead to.
std::map<int, std::string> descriptors() {
  std::map<int, std::string> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone) found[std::stoi(entry.path().filename())] = target;
  }
  return found;
}

// Nobody accepts, and nobody more fits into the queue before the socket: whoever connects waits.
TEST(TcpBootstrap, ProgramsThatAPeStartsWhileItConnectsDoNotKeepItsSocket) {
  TcpJob job(2, 1s);
  ASSERT_EQ(::listen(job.listener.get(), 0), 0);
  const RawClient first(job);
  const auto before = descriptors();
  auto one =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(1), kQuiet); });
  int sockets = 0;
  while (sockets == 0 && one.wait_for(0s) != std::future_status::ready) {
    for (const auto& [descriptor, target] : descriptors()) {
      const auto known = before.find(descriptor);
      if (known != before.end() && known->second == target) continue;
      const int flags = ::fcntl(descriptor, F_GETFD);
      if (flags < 0) continue;
      EXPECT_NE(flags & FD_CLOEXEC, 0) << target;
      sockets += target.starts_with("socket:");
    }
  }
  EXPECT_GT(sockets, 0);
  job.listener.reset();
  EXPECT_FALSE(one.get());
}

// The last descriptor goes to a PE that is told that there is none for it.
TEST(TcpHub, WithoutADescriptorForAPeItTellsAllWhy) {
  // That of undefined behaviour, which comes with it: it opens a pipe to look at a virtual call.
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer needs descriptors for its checks";
  const TcpJob job(2);
  UniqueFileDescriptor listener(::fcntl(job.listener.get(), F_DUPFD_CLOEXEC, 0));
  auto hub = TcpHub::start(std::move(listener), {2, job.secret, 20s, kQuiet});
  ASSERT_TRUE(hub);
  RawClient zero(job);
  ASSERT_EQ(shake_hands(zero, job, 0, job.secret), Verdict::accepted);
  UniqueFileDescriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{30, 0};
  ::setsockopt(one.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(one.get());
  ::close(lowest_free);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(job.address.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connected = ::connect(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  RawClient client(std::move(one));
  const auto verdict = shake_hands(client, job, 1, job.secret);
  FrameHeader failure{};
  const bool told = zero.receive(failure);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(connected == 0 && told);
  EXPECT_EQ(verdict, Verdict::no_descriptors);
  EXPECT_EQ(failure.type, static_cast<std::uint32_t>(FrameType::failure));
  std::string text(failure.length, ' ');
  for (char& character : text) ASSERT_TRUE(zero.receive(character));
  EXPECT_THAT(text,
              AllOf(HasSubstr("no file descriptor left for the connection of PE 1"),
                    HasSubstr("may have " + std::to_string(lowest_free)), HasSubstr("ulimit -n")));
}

// Between a PE and its hub; keeps every farewell back for a while, as a network may that carries
// each connection by itself.
class SlowFarewells {
 public:
  explicit SlowFarewells(const TcpJob& job) : job_(job) {
    listener_ = std::move(*open_listener("127.0.0.1", 0));
    thread_ = std::thread([this] { run(); });
  }
  ~SlowFarewells() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (std::thread& way : ways_) way.join();
  }
  std::uint16_t port() const { return listener_address(listener_.get())->port; }

 private:
  void run() {
    for (;;) {
      const int accepted = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) return;
      const auto member = std::make_shared<UniqueFileDescriptor>(accepted);
      const auto hub = std::make_shared<RawClient>(job_);
      ways_.emplace_back([member, hub] { carry(member->get(), hub->socket(), true); });
      ways_.emplace_back([member, hub] { carry(hub->socket(), member->get(), false); });
    }
  }
  static void carry(int from, int to, bool to_hub) {
    std::array<char, 4096> bytes{};
    ssize_t count = 0;
    while ((count = ::recv(from, bytes.data(), bytes.size(), 0)) > 0) {
      const bool farewell = bytes[3] == static_cast<char>(FrameType::leave);
      if (to_hub && farewell) std::this_thread::sleep_for(300ms);
      if (::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) < 0) break;
    }
    ::shutdown(to, SHUT_WR);
  }

  const TcpJob& job_;
  UniqueFileDescriptor listener_;
  std::vector<std::thread> ways_;
  std::thread thread_;
};

TEST(TcpBootstrap, APeIsNotBackBeforeItsFarewellHasArrived) {
  const TcpJob job(2);
  const SlowFarewells network(job);
  run_members(2, [&](int rank) {
    LaunchInfo info = job.info(rank);
    if (rank == 1) info.root_port = network.port();
    for (int round = 0; round < 2; ++round) {
      auto member = open_tcp_bootstrap(info, kQuiet);
      ASSERT_TRUE(member) << member.error().message();
      if (rank == 0) std::this_thread::sleep_for(100ms);  // PE 1 leaves first
    }
  });
}

}  // namespace
}  // namespace gdakit::testing_bootstrap

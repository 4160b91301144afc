// What the preloaded library does to a program's descriptors and processes. To be run by
//
//   gdakit verbs --nics 2 -- verbs_shim_test
//
// as any program is: it links nothing of gdakit.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/close_range.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <set>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <climits>
#include <gtest/gtest.h>

namespace {

constexpr const char* kDevice = "/dev/infiniband/uverbs0";
constexpr int kNetlinkRdma = 20;

// QUERY_CONTEXT without attributes: 0 once the context has begun, and an errno value before.
int call(int file, std::uint16_t method) {
  std::array<std::uint64_t, sizeof(ib_uverbs_ioctl_hdr) / sizeof(std::uint64_t)> words{};
  auto* const header = reinterpret_cast<ib_uverbs_ioctl_hdr*>(words.data());
  header->length = sizeof(ib_uverbs_ioctl_hdr);
  header->object_id = UVERBS_OBJECT_DEVICE;
  header->method_id = method;
  header->driver_id = RDMA_DRIVER_MLX5;
  return ::ioctl(file, RDMA_VERBS_IOCTL, header) == 0 ? 0 : errno;
}

bool is_alive(int file) { return call(file, UVERBS_METHOD_QUERY_CONTEXT) == 0; }

// What this process has open from this number on, each with what it is: "513 socket:[77]".
std::set<std::string> files_from(int first) {
  std::set<std::string> files;
  for (int file = first; file < 4096; ++file) {
    char name[256];
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const ssize_t size = ::readlink(path.c_str(), name, sizeof name);
    if (size < 0) continue;
    files.insert(std::to_string(file) + " " + std::string(name, static_cast<std::size_t>(size)));
  }
  return files;
}

class Shim : public testing::Test {
 protected:
  Shim() : file(::open(kDevice, O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(file, 0);
    EXPECT_EQ(call(file, UVERBS_METHOD_GET_CONTEXT), 0);
  }
  ~Shim() override { ::close(file); }

  int file;
};

TEST_F(Shim, ADeviceIsACharacterDevice) {
  struct stat by_name {
  }, opened{};
  ASSERT_EQ(::stat(kDevice, &by_name), 0);
  ASSERT_EQ(::fstat(file, &opened), 0);
  EXPECT_TRUE(S_ISCHR(by_name.st_mode));
  EXPECT_TRUE(S_ISCHR(opened.st_mode));
  EXPECT_EQ(by_name.st_rdev, opened.st_rdev);
  EXPECT_EQ(::access(kDevice, R_OK | W_OK), 0);
}

TEST_F(Shim, ADescriptorThatIsClosedIsAnOrdinaryOneAgain) {
  const int other = ::dup(file);
  ASSERT_GE(other, 0);
  ASSERT_EQ(::close(other), 0);
  const int null = ::open("/dev/null", O_RDWR);
  ASSERT_EQ(null, other);
  EXPECT_EQ(call(null, UVERBS_METHOD_QUERY_CONTEXT), ENOTTY);
  ::close(null);
}

// As a program does that makes its system calls itself.
TEST_F(Shim, ADescriptorThatIsClosedUnseenIsAnOrdinaryOneAgain) {
  ASSERT_EQ(::syscall(SYS_close, file), 0);
  const int null = ::open("/dev/null", O_RDWR);
  ASSERT_EQ(null, file);
  struct stat status {};
  ASSERT_EQ(::fstat(null, &status), 0);
  EXPECT_EQ(status.st_rdev, makedev(1, 3));
  EXPECT_EQ(call(null, UVERBS_METHOD_QUERY_CONTEXT), ENOTTY);
  ASSERT_EQ(::close(null), 0);
  file = ::open(kDevice, O_RDWR | O_CLOEXEC);
  EXPECT_EQ(call(file, UVERBS_METHOD_GET_CONTEXT), 0);
}

// The ways in which programs close all that they know nothing of.
void close_each() {
  for (int each = 3; each < 4096; ++each) ::close(each);
}
void close_by_range() { EXPECT_EQ(::close_range(3, ~0u, 0), 0); }
void close_all_from() { ::closefrom(3); }

TEST_F(Shim, WhatClosesEverythingLeavesTheLibrarysOwn) {
  for (void (*const close_all)() : {close_each, close_by_range, close_all_from}) {
    const std::set<std::string> before = files_from(512);
    EXPECT_GE(before.size(), 3u);  // the device, the fabric and the name on it
    close_all();
    EXPECT_EQ(files_from(3), before);
    EXPECT_EQ(call(file, UVERBS_METHOD_QUERY_CONTEXT), EBADF);
    file = ::open(kDevice, O_RDWR | O_CLOEXEC);
    EXPECT_EQ(call(file, UVERBS_METHOD_GET_CONTEXT), 0);
  }
}

TEST_F(Shim, NoProgramTakesTheNumberOfTheLibrarysOwn) {
  const std::set<std::string> before = files_from(512);
  ASSERT_FALSE(before.empty());
  const int own = std::stoi(*before.begin());
  EXPECT_EQ(::dup2(0, own), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(::dup3(0, own, O_CLOEXEC), -1);
  EXPECT_EQ(files_from(512), before);
}

TEST_F(Shim, ARangeThatIsOnlyMarkedStaysOpen) {
  EXPECT_EQ(::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC), 0);
  EXPECT_TRUE(is_alive(file));
  EXPECT_EQ(::close_range(4, 3, 0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Shim, ADuplicateKeepsTheContextOpen) {
  const int other = ::dup(file);
  ASSERT_EQ(::close(file), 0);
  EXPECT_TRUE(is_alive(other));
  file = other;
}

TEST_F(Shim, ADuplicationThatFailsClosesNothing) {
  EXPECT_EQ(::dup2(INT_MAX, file), -1);
  EXPECT_TRUE(is_alive(file));
}

// As posix_spawn and Python's subprocess do.
TEST_F(Shim, AChildOfVforkClosesNothingOfItsParents) {
  const pid_t child = ::vfork();
  if (child == 0) {
    ::close(file);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_alive(file));
}

TEST_F(Shim, AChildOpensDevicesOfItsOwn) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int own = ::open(kDevice, O_RDWR | O_CLOEXEC);
    const bool good = own >= 0 && call(own, UVERBS_METHOD_GET_CONTEXT) == 0 && is_alive(own);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_alive(file));
}

// Names of this user's fabrics, with what a member's process has put behind them.
std::set<std::string> names_of(pid_t member) {
  const std::string wanted = "/member/" + std::to_string(member) + "/";
  std::set<std::string> names;
  std::ifstream list("/proc/net/unix");
  for (std::string line; std::getline(list, line);) {
    if (line.find(wanted) != std::string::npos) names.insert(line.substr(line.find('@')));
  }
  return names;
}

// Waits for what is told by a pipe's end: another process has closed its own.
void wait_for_end(int file) {
  char byte = 0;
  EXPECT_EQ(::read(file, &byte, 1), 0);
}

TEST_F(Shim, AChildHasNoneOfTheLibrarysOwn) {
  EXPECT_EQ(names_of(::getpid()).size(), 1u);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(files_from(512).empty() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_alive(file));
}

// As one that joins the fabric holds it.
int lock_fabric() {
  const std::set<std::string> names = names_of(::getpid());
  if (names.empty()) return -1;
  std::string name = *names.begin();  // @gdakit-verbs/.../member/...
  name = name.substr(1, name.find("member/") - 1) + "lock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int lock = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(lock, reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  return lock;
}

TEST_F(Shim, CallsGoOnWhileAnotherDeviceIsOpened) {
  const int lock = lock_fabric();
  ASSERT_GE(lock, 0);
  std::atomic<bool> opened{false};
  std::vector<std::thread> openers;
  for (int i = 0; i < 4; ++i) {
    openers.emplace_back([&opened] {
      const int other = ::open("/dev/infiniband/uverbs1", O_RDWR | O_CLOEXEC);
      opened = true;
      EXPECT_EQ(call(other, UVERBS_METHOD_GET_CONTEXT), 0);
      EXPECT_EQ(::close(other), 0);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(is_alive(file));
  EXPECT_EQ(::close(::dup(file)), 0);
  const int again = ::open(kDevice, O_RDWR | O_CLOEXEC);
  EXPECT_EQ(call(again, UVERBS_METHOD_GET_CONTEXT), 0);
  EXPECT_EQ(::close(again), 0);
  EXPECT_FALSE(opened);
  ::close(lock);
  for (std::thread& opener : openers) opener.join();
}

// It is not the child of a fork that keeps its parent's name.
TEST(ShimProcesses, OneThatHasEndedIsNoMemberWhateverItsChildDoes) {
  int ready[2], end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const int file = ::open(kDevice, O_RDWR | O_CLOEXEC);
    if (file < 0 || names_of(::getpid()).size() != 1) ::_exit(1);
    if (::fork() != 0) ::_exit(0);
    ::close(ready[1]);
    ::close(end[1]);
    wait_for_end(end[0]);
    ::_exit(0);
  }
  ::close(ready[1]);
  int status = -1;
  EXPECT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  wait_for_end(ready[0]);
  EXPECT_EQ(names_of(parent), std::set<std::string>());
  for (const int each : {ready[0], end[0], end[1]}) ::close(each);
}

// In a child, whose NICs are reached at an address that no host has.
TEST(ShimProcesses, ADeviceThatCannotBeOpenedLeavesNothingOpen) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string fabric = "nowhere-" + std::to_string(::getpid());
    ::setenv("GDAKIT_VERBS_SPEC", ("address=192.0.2.1,fabric=" + fabric).c_str(), 1);
    const std::set<std::string> before = files_from(0);
    for (int i = 0; i < 3; ++i) {
      if (::open(kDevice, O_RDWR | O_CLOEXEC) >= 0) ::_exit(2);
    }
    ::_exit(files_from(0) == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ShimPaths, TheListOfTheSystemsOwnDevicesIsRefused) {
  EXPECT_EQ(::socket(AF_NETLINK, SOCK_RAW, kNetlinkRdma), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
}

TEST(ShimPaths, ADeviceLiesBehindItsPciAddress) {
  char path[PATH_MAX];
  ASSERT_NE(::realpath("/sys/class/infiniband/mlx5_0/device", path), nullptr);
  EXPECT_TRUE(std::string(path).ends_with("/0000:01:00.0")) << path;
}

TEST(ShimPaths, WhatIsNotThereIsNotThere) {
  EXPECT_EQ(::open("/dev/infiniband/uverbs7", O_RDWR), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::access("/sys/class/infiniband/mlx5_7", F_OK), -1);
}

}  // namespace

// What the preloaded library does to a program's descriptors and processes. To be run by
//
//   gdakit verbs -- verbs_shim_test
//
// as any program is: it links nothing of gdakit.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

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

// As close_range(2), which is not answered for, closes them.
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

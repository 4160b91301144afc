// Descriptors of the library's own, in a program that knows nothing of them.
#include "backends/softnic/uverbs/own_files.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using test::open_device;
using test::own_spec;

std::set<int> open_files() {
  std::set<int> files;
  for (int file = 0; file < 4096; ++file) {
    if (::fcntl(file, F_GETFD) >= 0) files.insert(file);
  }
  return files;
}

// A device that is reached at an address of this host.
Spec spec_with_address() {
  return *Spec::parse("address=127.0.0.1:" + std::to_string(test::free_port()) +
                      ",fabric=" + own_spec("files").fabric);
}

// The environment says so while it lives.
class Recording {
 public:
  Recording() : folder_(testing::TempDir() + "recording-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    for (const char* name : kNames) ::setenv(name, folder_.c_str(), 1);
  }
  ~Recording() {
    for (const char* name : kNames) ::unsetenv(name);
    std::filesystem::remove_all(folder_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  static constexpr std::array kNames = {"GDAKIT_CAPTURE", "GDAKIT_TRACE"};
  const std::string folder_;
};

TEST(UverbsOwnFiles, ADeviceKeepsNoOthersOpen) {
  const Spec spec = spec_with_address();
  const Recording recording;
  const std::set<int> before = open_files();
  const auto device = open_device(spec);
  std::size_t found = 0;
  for (const int file : open_files()) {
    if (before.contains(file)) continue;
    ++found;
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    EXPECT_TRUE(is_own_file(static_cast<unsigned>(file))) << std::filesystem::read_symlink(path);
    EXPECT_GE(file, least_own_number());
  }
  EXPECT_GE(found, 6u) << "its memory, fabric, name, socket, capture and trace";
}

TEST(UverbsOwnFiles, ADeviceThatEndsClosesThem) {
  const Spec spec = spec_with_address();
  const Recording recording;
  const std::set<int> before = open_files();
  open_device(spec).reset();
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(next_own_file(0), std::nullopt);
}

// A child that is through with fork, and waits until its parent kills it.
class WaitingChild {
 public:
  WaitingChild() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) ::close(ends[1]);
    while (pid_ == 0) ::pause();
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0);  // by now both have closed it
    ::close(ends[0]);
  }
  ~WaitingChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

 private:
  pid_t pid_ = 0;
};

TEST(UverbsOwnFiles, AChildDoesNotKeepItsParentsPort) {
  const Spec spec = spec_with_address();
  auto device = open_device(spec);
  const WaitingChild child;
  device.reset();
  const auto again = Device::open(spec, 0);
  EXPECT_TRUE(again) << again.error().message();
}

// Ends a child that does nothing, at once.
bool fork_once() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return ::waitpid(child, nullptr, 0) == child;
}

TEST(UverbsOwnFiles, NoOtherThreadForksWhileOneIsOpened) {
  std::atomic<bool> started{false}, forked{false};
  std::optional<OpeningOwnFiles> opening(std::in_place);
  std::thread other([&] {
    started = true;
    forked = fork_once();
  });
  while (!started) std::this_thread::yield();
  { const OpeningOwnFiles nested; }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(forked);
  opening.reset();
  other.join();
  EXPECT_TRUE(forked);
}

TEST(UverbsOwnFiles, TheThreadThatOpensOneMayFork) {
  const OpeningOwnFiles opening;
  EXPECT_TRUE(fork_once());
}

// As the hook of dup2 takes a number: what the library has given up it does not close again.
TEST(UverbsOwnFiles, ANumberThatIsGivenUpIsClosedByThen) {
  const int number = least_own_number();
  std::atomic<bool> over{false};
  std::thread library([&over] {
    while (!over) {
      KeptFile file;
      const OpeningOwnFiles opening;
      file = keep_file(UniqueFileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
    }
  });
  int lost = 0;
  for (int taken = 0; taken < 10'000;) {
    {
      const OpeningOwnFiles opening;
      if (is_own_file(static_cast<unsigned>(number)) || ::dup2(0, number) != number) continue;
    }
    ++taken;
    bool is_open = true;
    for (int looks = 0; looks < 20 && is_open; ++looks) is_open = ::fcntl(number, F_GETFD) >= 0;
    lost += is_open ? 0 : 1;
    ::close(number);
  }
  over = true;
  library.join();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

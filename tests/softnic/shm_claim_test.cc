// Endpoints of processes that have ended, or have become other programs.
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic {
namespace {

std::shared_ptr<ShmSegment> make_segment() { return *ShmSegment::create({.endpoints = 2}); }

TEST(ShmSegment, TakesAnEndpointOverFromAProcessThatWasKilled) {
  const auto segment = make_segment();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto wire = segment->attach(1);
    const char byte = wire ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(segment->attach(1));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(segment->attach(1));
  ::close(ready[0]);
  ::close(ready[1]);
}

// By exec: its number lives on, and its files are closed.
TEST(ShmSegment, TakesAnEndpointOverFromAProcessThatIsAnotherProgramNow) {
  const auto segment = make_segment();
  const std::string path = segment->path();
  auto own = std::move(*segment->attach(0));
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto same = ShmSegment::open(path);
    const auto wire = same ? (*same)->attach(1) : same.error();
    const char byte = wire ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  // Nobody reads what is sent there once the end of the pipe has gone, too.
  Packet packet;
  packet.header.destination = 1;
  EXPECT_TRUE(own->send(packet));
  own->flush();
  EXPECT_EQ(::read(ready[0], &byte, 1), 0);
  EXPECT_FALSE(own->unread(1));
  EXPECT_TRUE(segment->attach(1));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ready[0]);
}

}  // namespace
}  // namespace gdakit::softnic

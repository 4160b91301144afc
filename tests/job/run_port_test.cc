// The socket at which the PEs of `gdakit run` meet.
#include <cerrno>
#include <netinet/in.h>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "tests/job/launched.h"

namespace gdakit::testing_job {
namespace {

// A daemon that PE 0 started has the job's socket, and outlives the job.
TEST(RunEnd, WhatOutlivesTheJobDoesNotHoldItsPort) {
  const Outcome job =
      gdakit(shell_job(1,
                       "setsid sleep 1000 & echo $! $GDAKIT_ROOT;"
                       "until [ $(cut -d' ' -f6 /proc/$!/stat) = $! ]; do sleep 0.02; done"));
  std::istringstream line(job.output);
  std::string prefix, host;
  pid_t daemon = 0;
  int port = 0;
  line >> prefix >> daemon;
  std::getline(line >> std::ws, host, ':');
  line >> port;
  EXPECT_EQ(::kill(daemon, 0), 0) << "it outlives the job";
  const UniqueFileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  ::kill(daemon, SIGKILL);
}

}  // namespace
}  // namespace gdakit::testing_job

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

// Not only after GDAKIT_TIMEOUT, a minute.
TEST(RunEnd, APeThatComesAfterPe0HasEndedIsToldSoAtOnce) {
  const Outcome job = gdakit({"run", "-n", "2", "--timeout", "50", "sh", "-c",
                              "test $GDAKIT_RANK = 0 || exec " GDAKIT_BOOTSTRAP_PE});
  EXPECT_EQ(job.status, 3) << job.errors;
  EXPECT_NE(job.errors.find("[1] PE 1 came too late to join PE 0 at 127.0.0.1:"), std::string::npos)
      << job.errors;
}

}  // namespace
}  // namespace gdakit::testing_job

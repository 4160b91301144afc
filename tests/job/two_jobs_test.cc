// Jobs whose NICs want one address.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file_descriptor.h"
#include "tests/job/launched.h"
#include "tests/job/variable.h"

namespace gdakit::testing_job {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The first NIC has RoCEv2's port, if nobody has it yet, and the others have free ones.
TEST(TwoJobs, OnOneAddressWithoutAPortAreBothExact) {
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable address("GDAKIT_NIC_ADDRESS", "127.0.0.1");
  Launched one({"run", "-n", "2", GDAKIT_TRAFFIC_PE, "30"});
  Launched two({"run", "-n", "2", GDAKIT_TRAFFIC_PE, "30"});
  for (Launched* const job : {&one, &two}) {
    const Outcome& outcome = job->wait();
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
  }
}

// The other job is this test.
TEST(TwoJobs, OfOnePortTheSecondSaysWhoHasIt) {
  const UniqueFileDescriptor holder(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  ASSERT_EQ(::bind(holder.get(), reinterpret_cast<const sockaddr*>(&own), size), 0);
  ASSERT_EQ(::getsockname(holder.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  const std::string taken = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  const Variable device("GDAKIT_DEVICE", "cpu");
  const Variable address("GDAKIT_NIC_ADDRESS", taken);
  const Outcome job = gdakit({"run", "-n", "1", GDAKIT_TRAFFIC_PE, "2"});
  EXPECT_NE(job.status, 0);
  EXPECT_THAT(job.errors,
              AllOf(HasSubstr("GDAKIT_NIC_ADDRESS: "), HasSubstr(taken),
                    HasSubstr("process " + std::to_string(::getpid()) + " (command_test)"),
                    HasSubstr("each NIC needs an address or a port of its own")));
}

}  // namespace
}  // namespace gdakit::testing_job

// The example of servers that fill their clients' pages as a user runs it, on the emulator.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>

#include "tests/examples/program.h"

namespace gdakit {
namespace {

using test::Outcome;
using testing::HasSubstr;
using testing::Not;

// Small enough for a fraction of a second; pages outnumber the slots of a shallow send queue.
const std::string kSmall = " --pages 100 --page-bytes 200 --requests 5 --in-flight 2 --buffers 3";
const std::string kShallow = "GDAKIT_QUEUE_DEPTH=64 ";

std::string verified(int clients, int requests, int pages) {
  return "verified: " + std::to_string(clients) + (clients == 1 ? " client, " : " clients, ") +
         std::to_string(requests) + " requests, " + std::to_string(pages) +
         " pages: every word is what its request's seed says";
}

Outcome run_threads(int pes, const std::string& options, const std::string& set = "") {
  return test::run(set + PAGED_FILL " --pes " + std::to_string(pes) + options);
}

Outcome run_processes(int pes, const std::string& options, const std::string& set = "") {
  return test::run(set + GDAKIT " run --no-prefix --timeout 50 -n " + std::to_string(pes) +
                   " " PAGED_FILL + options);
}

void expect_verified(const Outcome& outcome, int clients, int requests, int pages) {
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.last_line(), verified(clients, requests, pages)) << outcome.output;
}

void expect_refused(const Outcome& outcome, int status, const std::string& sentence) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_THAT(outcome.errors, HasSubstr(sentence));
  EXPECT_THAT(outcome.output, Not(HasSubstr("verified")));
}

class PagedFill : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(::setenv("GDAKIT_DEVICE", "cpu", 1), 0); }
};

TEST_F(PagedFill, ThreadsGetEveryPage) {
  expect_verified(run_threads(2, kSmall), 1, 5, 500);
  expect_verified(run_threads(4, kSmall), 3, 15, 1500);
}

TEST_F(PagedFill, ProcessesGetEveryPage) { expect_verified(run_processes(3, kSmall), 2, 10, 1000); }

TEST_F(PagedFill, SeveralServersTakeTurns) {
  expect_verified(run_threads(5, kSmall + " --servers 4,1"), 3, 15, 1500);
  expect_verified(run_threads(3, kSmall + " --servers 0,1"), 1, 5, 500);
}

TEST_F(PagedFill, APageMayBeAWordAndARequestAPage) {
  expect_verified(
      run_threads(2, " --pages 1 --page-bytes 8 --requests 7 --in-flight 1 --buffers 1"), 1, 7, 7);
}

TEST_F(PagedFill, WaitsForRoomInShallowQueues) {
  expect_verified(run_threads(3, kSmall, kShallow), 2, 10, 1000);
}

TEST_F(PagedFill, AProxyMayRing) {
  for (const std::string handler : {"proxy", "commands"}) {
    expect_verified(run_threads(2, kSmall, "GDAKIT_NIC_HANDLER=" + handler + " "), 1, 5, 500);
  }
}

TEST_F(PagedFill, WorksOverUdp) {
  expect_verified(run_processes(3, kSmall, "GDAKIT_NIC_ADDRESS=127.0.0.0/8 "), 2, 10, 1000);
}

TEST_F(PagedFill, WorksOnABadNetwork) {
  const std::string set = "GDAKIT_NIC_ADDRESS=127.0.0.0/8 GDAKIT_NIC_FAULTS=drop=2% ";
  expect_verified(run_processes(3, kSmall, set), 2, 10, 1000);
}

TEST_F(PagedFill, HelpNamesEveryOption) {
  const Outcome outcome = test::run(PAGED_FILL " --help");
  EXPECT_EQ(outcome.status, 0);
  for (const char* option : {"--pages", "--page-bytes", "--requests", "--in-flight", "--buffers",
                             "--servers", "--pes"}) {
    EXPECT_THAT(outcome.output, HasSubstr(option));
  }
}

TEST_F(PagedFill, RefusesArgumentsThatDoNotGoTogether) {
  expect_refused(run_threads(2, " --page-bytes 12"), 2, "use a multiple of 8");
  expect_refused(run_threads(2, " --in-flight 4 --buffers 3"), 2, "raise the one or lower");
  expect_refused(run_threads(2, " --pages 0"), 2, "--pages");
  expect_refused(run_threads(2, " --servers x"), 2, "--servers");
  expect_refused(run_threads(2, " --servers 2"), 1, "give PEs from 0 to 1");
  expect_refused(run_threads(1, ""), 1, "none is a client");
  expect_refused(run_processes(2, " --servers 0,1"), 1, "name fewer by --servers");
  expect_refused(run_processes(2, " --pes 2"), 1, "leave the option out");
}

TEST_F(PagedFill, SaysWhichLimitThePagesExceed) {
  expect_refused(run_threads(2, " --page-bytes 67108864 --pages 1024"), 1, "GDAKIT_HEAP_LIMIT");
}

}  // namespace
}  // namespace gdakit

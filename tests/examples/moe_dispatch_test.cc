// The example as a user runs it, on the emulator.
#include <cstdlib>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "core/base/annotate.h"
#include "tests/examples/program.h"

namespace gdakit {
namespace {

using test::Outcome;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// Small enough for a fraction of a second, with more than one step.
const std::string kSmall = " --hidden 100 --batch 7 --blocks 3 --threads 64";

std::string verified(int tokens, int experts, int top_k) {
  return "verified: " + std::to_string(tokens) + (tokens == 1 ? " token, " : " tokens, ") +
         std::to_string(experts) + " experts, top-k " + std::to_string(top_k) +
         ": every output equals the sequential reference";
}

Outcome run_threads(int pes, const std::string& options) {
  return test::run(MOE_DISPATCH " --pes " + std::to_string(pes) + options);
}

Outcome run_processes(int pes, const std::string& options) {
  return test::run(GDAKIT " run --no-prefix --timeout 50 -n " + std::to_string(pes) +
                   " " MOE_DISPATCH + options);
}

// The text of a test: 61 words, so that shares differ, and the last step is not full.
std::string some_words() {
  std::string text;
  for (int i = 0; i < 61; ++i) text += "Word" + std::to_string(i * i % 23) + (i % 9 ? " " : ",\n");
  return text;
}

void expect_verified(const Outcome& outcome, int tokens, int experts, int top_k) {
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.last_line(), verified(tokens, experts, top_k)) << outcome.output;
}

void expect_refused(const Outcome& outcome, int status, const std::string& sentence) {
  EXPECT_EQ(outcome.status, status);
  EXPECT_THAT(outcome.errors, HasSubstr(sentence));
  EXPECT_THAT(outcome.output, Not(HasSubstr("verified")));
}

class MoeDispatch : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(::setenv("GDAKIT_DEVICE", "cpu", 1), 0); }

  std::string small() const { return kSmall + " --text " + text_.path(); }

  test::TemporaryFile text_{some_words()};
};

class MoeDispatchOn : public MoeDispatch, public testing::WithParamInterface<int> {};

TEST_P(MoeDispatchOn, ThreadsEqualsTheReference) {
  expect_verified(run_threads(GetParam(), small()), 61, 32, 8);
}

TEST_P(MoeDispatchOn, ProcessesEqualsTheReference) {
  expect_verified(run_processes(GetParam(), small()), 61, 32, 8);
}

INSTANTIATE_TEST_SUITE_P(Pes, MoeDispatchOn, testing::Values(1, 2, 4));

TEST_F(MoeDispatch, TakesOneExpertPerPeAndPerToken) {
  expect_verified(run_threads(4, small() + " --experts 4 --top-k 1"), 61, 4, 1);
}

TEST_F(MoeDispatch, EveryTokenGoesToEveryExpert) {
  expect_verified(run_threads(2, small() + " --experts 6 --top-k 6"), 61, 6, 6);
}

TEST_F(MoeDispatch, TakesMoreExpertsThanLanes) {
  expect_verified(run_threads(3, small() + " --experts 99 --top-k 7"), 61, 99, 7);
}

TEST_F(MoeDispatch, OneWarpDoesTheWorkOfAll) {
  expect_verified(run_threads(2, small() + " --blocks 1 --threads 32"), 61, 32, 8);
}

TEST_F(MoeDispatch, TakesMoreBlocksThanTokens) {
  expect_verified(run_threads(2, small() + " --tokens 10 --batch 3 --blocks 12"), 10, 32, 8);
}

TEST_F(MoeDispatch, AHiddenVectorMayHaveOneValue) {
  expect_verified(run_threads(2, small() + " --hidden 1"), 61, 32, 8);
}

TEST_F(MoeDispatch, ATextOfOneWordLeavesPesWithoutTokens) {
  test::TemporaryFile word("Word!");
  expect_verified(run_threads(4, kSmall + " --text " + word.path()), 1, 32, 8);
}

TEST_F(MoeDispatch, TakesAsManyTokensAsItIsTold) {
  expect_verified(run_threads(2, small() + " --tokens 20"), 20, 32, 8);
}

// The messages lie across the borders of many chunks, each with its own key.
TEST_F(MoeDispatch, BuffersMayExceedTheArena) {
  const std::string heap = "GDAKIT_SYMMETRIC_SIZE=64K GDAKIT_HEAP_CHUNK=4K ";
  expect_verified(test::run(heap + MOE_DISPATCH " --pes 2" + small()), 61, 32, 8);
}

TEST_F(MoeDispatch, WaitsForRoomInShallowQueues) {
  const std::string queues = "GDAKIT_QUEUE_DEPTH=64 GDAKIT_QUEUES_PER_PEER=1 ";
  expect_verified(test::run(queues + MOE_DISPATCH " --pes 2 --batch 60" + small()), 61, 32, 8);
}

TEST_F(MoeDispatch, AProxyMayRingOrPost) {
  for (const std::string handler : {"proxy", "commands"}) {
    const std::string set = "GDAKIT_NIC_HANDLER=" + handler + " ";
    expect_verified(test::run(set + MOE_DISPATCH " --pes 2" + small()), 61, 32, 8);
  }
}

// Each PE for more than two watchdogs, amid its steps; its peer waits for it.
TEST_F(MoeDispatch, GoesOnBehindAPeThatWasStopped) {
  if (GDAKIT_ASAN || GDAKIT_TSAN) GTEST_SKIP() << "the job would take minutes";
  std::string words;
  for (int i = 0; i < 4000; ++i) words += "word" + std::to_string(i % 500) + " ";
  const test::TemporaryFile text(words);
  const std::string stop = "(sleep 1; kill -STOP $$; sleep 11; kill -CONT $$) & ";
  for (const std::string stopped : {"0", "1"}) {
    const Outcome outcome = test::run(
        "GDAKIT_WATCHDOG=5 " GDAKIT " run --no-prefix -n 2 sh -c '[ $GDAKIT_RANK = " + stopped +
        " ] && { " + stop + "}; exec " MOE_DISPATCH " --text " + text.path() + "'");
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.last_line(), verified(4000, 32, 8)) << outcome.output;
    EXPECT_THAT(outcome.errors, HasSubstr("PE " + stopped + " (process "));
    EXPECT_THAT(outcome.errors, HasSubstr("PE " + stopped + " goes on after 1"));
    EXPECT_THAT(outcome.errors, Not(HasSubstr("stalled")));
  }
}

TEST_F(MoeDispatch, PeZeroPrintsOneTable) {
  const Outcome outcome = run_processes(2, small());
  std::istringstream lines(outcome.output);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "on the CPU emulator, soft NIC, 2 PEs as processes");
  std::getline(lines, line);
  EXPECT_EQ(line, "61 tokens of 100 values, 7 to a PE in a step: the words of " + text_.path());
  for (int step = 1; step < 5; ++step) {
    std::getline(lines, line);
    EXPECT_THAT(line, MatchesRegex("step " + std::to_string(step) + " of 5 after [0-9.]+ s"));
  }
  std::getline(lines, line);
  EXPECT_THAT(line, MatchesRegex(" +messages +megabytes +median us of a step"));
  std::getline(lines, line);
  EXPECT_THAT(line, MatchesRegex(" +PE tokens +sent received +sent received .* combine"));
  EXPECT_LE(line.size() + std::string("[0] ").size(), 100u);
  std::uint64_t sum_received = 0;
  for (std::uint64_t pe = 0; pe < 2; ++pe) {
    std::uint64_t number = 9, tokens = 0, sent = 0, received = 0;
    ASSERT_TRUE(lines >> number >> tokens >> sent >> received && std::getline(lines, line));
    EXPECT_EQ(number, pe);
    EXPECT_EQ(tokens, pe == 0 ? 30u : 31u);
    EXPECT_EQ(sent, tokens * 8);
    sum_received += received;
  }
  EXPECT_EQ(sum_received, 61u * 8);
  std::getline(lines, line);
  EXPECT_THAT(line, HasSubstr("mean 15.2 messages"));
  std::getline(lines, line);
  EXPECT_THAT(line, MatchesRegex("a step of 7 tokens a PE, 0.0 MB each way: dispatch [0-9.]+ us, "
                                 "combine [0-9.]+ us"));
  std::getline(lines, line);
  EXPECT_EQ(line, verified(61, 32, 8));
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(MoeDispatch, HelpNamesEveryOption) {
  const Outcome outcome = test::run(MOE_DISPATCH " --help");
  EXPECT_EQ(outcome.status, 0);
  for (const char* option : {"--text", "--tokens", "--hidden", "--experts", "--top-k", "--batch",
                             "--blocks", "--threads", "--pes"}) {
    EXPECT_THAT(outcome.output, HasSubstr(option));
  }
}

TEST_F(MoeDispatch, RefusesATextThatIsNotThere) {
  expect_refused(run_threads(2, " --text no/such/text"), 1, "name another one by --text");
  expect_refused(run_processes(2, " --text no/such/text"), 1, "name another one by --text");
}

TEST_F(MoeDispatch, RefusesATextThatDoesNotEnd) {
  expect_refused(run_threads(2, " --text /dev/zero"), 1,
                 "/dev/zero has more than 64 MiB; name another one by --text");
}

TEST_F(MoeDispatch, RefusesATextWithoutWords) {
  test::TemporaryFile none(" ... \n?");
  expect_refused(run_threads(2, kSmall + " --text " + none.path()), 1, "has no word");
  expect_refused(run_threads(2, kSmall + " --text ."), 1, "name another one by --text");
}

TEST_F(MoeDispatch, RefusesExpertsThatThePesCannotShare) {
  const std::string sentence =
      "--experts 32 on 3 PEs: each PE owns as many as the others; use a "
      "multiple of 3, such as 33";
  expect_refused(run_threads(3, small()), 1, sentence);
  expect_refused(run_processes(3, small()), 1, sentence);
}

TEST_F(MoeDispatch, RefusesArgumentsOutOfRange) {
  expect_refused(run_threads(2, small() + " --top-k 9"), 2, "--top-k");
  expect_refused(run_threads(2, small() + " --top-k 8 --experts 6"), 2, "lower the one");
  expect_refused(run_threads(2, " --threads 48"), 2, "use a multiple of 32");
  expect_refused(run_threads(2, " --hidden 0"), 2, "--hidden");
  expect_refused(run_threads(2, " --batch x"), 2, "--batch");
  expect_refused(run_threads(0, small()), 2, "--pes");
  expect_refused(run_threads(2, " --no-such-option"), 2, "--no-such-option");
}

TEST_F(MoeDispatch, RefusesThreadsAsPesInsideAJob) {
  expect_refused(run_processes(2, small() + " --pes 2"), 1, "leave the option out");
}

TEST_F(MoeDispatch, SaysWhichLimitTheBuffersExceed) {
  expect_refused(run_threads(2, small() + " --hidden 1000000 --batch 100000"), 1,
                 "GDAKIT_HEAP_LIMIT");
}

}  // namespace
}  // namespace gdakit

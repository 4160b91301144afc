// The table of `gdakit top`, and the rates in it.
#include "tools/top_table.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "tests/job/counter_samples.h"
#include "tests/job/launched.h"
#include "tools/counter_rates.h"

namespace gdakit::testing_job {
namespace {

using testing::HasSubstr;
using testing::Not;
using tools::CounterRates;
using tools::rates_between;
using tools::short_number;
using tools::top_table;
using tools::TopBy;
using tools::TopPe;

// The same PE two seconds later.
PeCounters later(PeCounters pe) {
  pe.sampled_ms += 2000;
  pe.nic.bytes_sent += 400;
  pe.nic.dropped_packets += 6;
  pe.queues[0].counters.bytes_sent += 300;
  pe.queues[1].counters.bytes_sent += 100;
  return pe;
}

TEST(CounterRates, AreWhatWasCountedBetweenTwoFiles) {
  const PeCounters before = sample_pe(0);
  const CounterRates rates = rates_between(before, later(before));
  EXPECT_EQ(rates.seconds, 2);
  EXPECT_EQ(rates.counted.nic.bytes_sent, 400u);
  EXPECT_EQ(rates.counted.nic.dropped_packets, 6u);
  EXPECT_EQ(rates.counted.queues[0].counters.bytes_sent, 300u);
  EXPECT_EQ(rates.counted.queues[1].counters.bytes_sent, 100u);
}

// More or less than the job before has counted: that one is over.
TEST(CounterRates, OfAJobThatBeganAnewCountFromItsBeginning) {
  for (const std::uint64_t bytes : {50u, 5000u}) {
    PeCounters now = sample_pe(0);
    now.started_ms += 10'000;
    now.sampled_ms = now.started_ms + 4000;
    now.nic.bytes_sent = now.queues[0].counters.bytes_sent = bytes;
    const CounterRates rates = rates_between(later(sample_pe(0)), now);
    EXPECT_EQ(rates.seconds, 4);
    EXPECT_EQ(rates.counted.nic.bytes_sent, bytes);
    EXPECT_EQ(rates.counted.queues[0].counters.bytes_sent, bytes);
  }
}

TEST(CounterRates, AreNeverNegative) {
  PeCounters now = later(sample_pe(0));
  now.queues[0].counters.bytes_sent = 30;  // another queue pair has taken the number
  now.queues[1].number = 6;
  const CounterRates rates = rates_between(sample_pe(0), now);
  EXPECT_EQ(rates.counted.queues[0].counters.bytes_sent, 30u);
  EXPECT_EQ(rates.counted.queues[1].counters.bytes_sent, 120u);
  // A clock that was set back.
  PeCounters earlier = sample_pe(0);
  earlier.sampled_ms = earlier.started_ms - 100;
  EXPECT_EQ(rates_between(sample_pe(0), earlier).seconds, 0);
}

TopPe shown(int rank, std::uint64_t bytes_a_second) {
  TopPe pe{.now = sample_pe(rank), .rates = CounterRates{1, sample_pe(rank)}};
  pe.rates->counted.nic.bytes_sent = bytes_a_second;
  return pe;
}

TEST(TopTable, HasALineForEachPe) {
  const std::vector<TopPe> pes = {shown(0, 1500), shown(1, 2'500'000)};
  const auto lines = lines_of(top_table(pes, TopBy::pe, "pe"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("PE  WQEs/s"));
  EXPECT_THAT(lines[1], HasSubstr("1.50k"));
  EXPECT_THAT(lines[2], HasSubstr("2.50M"));
  for (const std::string& line : lines) EXPECT_EQ(line.size(), lines[0].size());
}

// By wires between hosts, and of what came, for no queue pair. Both are the NIC's alone.
TEST(TopTable, SaysHowManyPacketsWereDropped) {
  std::vector<TopPe> pes = {shown(0, 1)};
  NicCounters& counted = pes[0].rates->counted.nic;
  counted.dropped_packets = 100;
  counted.udp_strangers = 20;
  counted.udp_overrun = 3;
  counted.udp_untrue_tags = 400;
  const auto by_pe = lines_of(top_table(pes, TopBy::pe, "drops"));
  ASSERT_EQ(by_pe.size(), 2u);
  EXPECT_THAT(by_pe[0], HasSubstr("drops/s"));
  EXPECT_THAT(by_pe[1], HasSubstr(" 523 "));
  const auto by_queue = lines_of(top_table(pes, TopBy::queue, "drops"));
  ASSERT_EQ(by_queue.size(), 3u);
  EXPECT_THAT(by_queue[0], HasSubstr("drops/s"));
  EXPECT_THAT(by_queue[1], HasSubstr("  -  "));
  EXPECT_THAT(by_queue[1], Not(HasSubstr("523")));
}

TEST(TopTable, IsSortedByAColumn) {
  const std::vector<TopPe> pes = {shown(0, 1), shown(1, 3), shown(2, 2)};
  const auto lines = lines_of(top_table(pes, TopBy::pe, "tx-bytes"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[1].starts_with(" 1 ")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(" 2 ")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with(" 0 ")) << lines[3];
}

TEST(TopTable, HasALineForEachQueue) {
  const std::vector<TopPe> pes = {shown(4, 1)};
  const auto lines = lines_of(top_table(pes, TopBy::queue, "pe"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("PE  peer  queue  QP ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with(" 4     1      2   3 ")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(" 4     -      -   5 ")) << lines[2];
  EXPECT_THAT(lines[1], HasSubstr(" 100 "));
}

// Of a NIC that counts for all queues together.
TEST(TopTable, HasNoNumberOfWhatIsNotKnown) {
  PeCounters now = pe_counted_together(0);
  now.sampled_ms += 2000;
  now.nic.out_of_sequence += 8;
  const std::vector<TopPe> pes = {
      {.now = now, .rates = rates_between(pe_counted_together(0), now)}};
  const auto by_pe = lines_of(top_table(pes, TopBy::pe, "pe"));
  ASSERT_EQ(by_pe.size(), 2u);
  EXPECT_THAT(by_pe[1], testing::MatchesRegex(" 0( +-){8} +4 +- +0"));
  const auto by_queue = lines_of(top_table(pes, TopBy::queue, "pe"));
  ASSERT_EQ(by_queue.size(), 3u);
  EXPECT_THAT(by_queue[0], testing::EndsWith("   state"));
  EXPECT_THAT(by_queue[1], testing::MatchesRegex(" 0 +1 +2 +3( +-){11} +ok"));
  EXPECT_THAT(by_queue[2], testing::MatchesRegex(" 0( +-){2} +5( +-){11} +broken"));
}

// As many as a job of hundreds of PEs has. Each of the later file is found in the earlier one,
// which has them the other way round.
TEST(TopTable, HasALineForEachOfThousandsOfQueues) {
  const PeCounters before = pe_with_queues(5000);
  PeCounters now = before;
  now.sampled_ms += 1000;
  for (PeCounters::Queue& queue : now.queues) queue.counters.bytes_sent += queue.number % 7;
  std::ranges::reverse(now.queues);
  const std::vector<TopPe> pes = {{.now = now, .rates = rates_between(before, now)}};
  const auto& counted = pes[0].rates->counted.queues;
  ASSERT_EQ(counted.size(), 5000u);
  for (const PeCounters::Queue& queue : counted) {
    ASSERT_EQ(queue.counters.bytes_sent, queue.number % 7) << queue.number;
  }
  const auto lines = lines_of(top_table(pes, TopBy::queue, "pe"));
  ASSERT_EQ(lines.size(), 5001u);
  for (const std::string& line : lines) ASSERT_EQ(line.size(), lines[0].size());
  EXPECT_TRUE(lines[1].starts_with(" 0  4999      0  5099 ")) << lines[1];
  EXPECT_TRUE(lines[5000].starts_with(" 0     0      0   100 ")) << lines[5000];
}

TEST(TopTable, SaysHowOldAFileIsInPlaceOfOldRates) {
  std::vector<TopPe> pes = {shown(0, 777)};
  pes[0].age_seconds = 12;
  const std::string table = top_table(pes, TopBy::pe, "pe");
  EXPECT_THAT(table, Not(HasSubstr("777")));
  EXPECT_THAT(table, HasSubstr("PE 0 has written nothing for 12 s: "));
  pes[0].age_seconds = 1;
  EXPECT_THAT(top_table(pes, TopBy::pe, "pe"), Not(HasSubstr("nothing")));
  pes[0].rates.reset();
  EXPECT_THAT(top_table(pes, TopBy::pe, "pe"), HasSubstr(" - "));
}

TEST(TopTable, WritesNumbersInThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(7), "7");
  EXPECT_EQ(short_number(12.34), "12.3");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(999.7), "1.00k");
  EXPECT_EQ(short_number(12'345), "12.3k");
  EXPECT_EQ(short_number(4'560'000), "4.56M");
  EXPECT_EQ(short_number(1.8e19), "18.0E");
}

}  // namespace
}  // namespace gdakit::testing_job

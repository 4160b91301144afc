// Collectives that the host asks for, one behind the other: on 1 to 9 PEs, with no elements, one
// and many, and in place.
#include <functional>
#include <string>
#include <vector>

#include "host_calls/host_calls.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;

constexpr std::size_t kMost = 137;
constexpr int kRounds = 12;

// What each PE gives at i.
int value(int pe, std::size_t i) { return 10'000 * pe + static_cast<int>(i); }

// A round's destinations, each with room for two words from each PE for each element.
class Round {
 public:
  Round(int* words, int round, int n)
      : place_(2 * static_cast<std::size_t>(n) * kMost),
        words_(words + kPlaces * place_ * static_cast<std::size_t>(round)),
        count_(std::vector<std::size_t>{0, 1, kMost}[static_cast<std::size_t>(round) % 3]),
        n_(n),
        root_(round % n) {}

  static std::size_t words_for(int n) {
    return kRounds * kPlaces * 2 * static_cast<std::size_t>(n) * kMost;
  }

  // Everything once. What is reduced in place was put there before.
  Result<void> ask(const HostTeamCalls& team, const int* source, int me) const {
    const auto gives = count_ * static_cast<std::size_t>(me % 2);
    Result<void> done = team.broadcast(at(0), source, count_, root_);
    if (done) done = team.fcollect(at(1), source, count_);
    if (done) done = team.collect(at(2), source, gives);
    if (done) done = team.alltoall(at(3), source, count_);
    if (done) done = team.alltoalls(at(4), source, 2, 1, count_);
    if (done) done = team.reduce(at(5), source, count_, ReduceOp::max);
    if (done) done = team.reduce(at(6), at(6), count_, ReduceOp::sum);
    if (done) done = team.reduce_scatter(at(7), source, count_, ReduceOp::min);
    return done;
  }
  Result<void> prepare(Context& c) const {
    return test::fill(c, at(6), count_, [&](std::size_t i) { return value(c.my_pe(), i); });
  }

  Result<void> check(Context& c) const {
    const auto me = static_cast<std::size_t>(c.my_pe());
    const auto pe_of = [this](std::size_t i) { return static_cast<int>(i / count_); };
    const std::size_t all = count_ * static_cast<std::size_t>(n_);
    auto done = is(c, 0, count_, [&](std::size_t i) { return value(root_, i); });
    if (done) done = is(c, 1, all, [&](std::size_t i) { return value(pe_of(i), i % count_); });
    if (done) {
      done = is(c, 2, count_ * static_cast<std::size_t>(n_ / 2),
                [&](std::size_t i) { return value(2 * pe_of(i) + 1, i % count_); });
    }
    const auto sent_to_me = [&](std::size_t i) {
      return value(pe_of(i), me * count_ + i % count_);
    };
    if (done) done = is(c, 3, all, sent_to_me);
    if (done) {
      done = is(c, 4, 2 * all, [&](std::size_t i) { return i % 2 == 0 ? sent_to_me(i / 2) : 0; });
    }
    if (done) done = is(c, 5, count_, [&](std::size_t i) { return value(n_ - 1, i); });
    if (done) {
      done = is(c, 6, count_, [&](std::size_t i) {
        return 10'000 * (n_ * (n_ - 1) / 2) + n_ * static_cast<int>(i);
      });
    }
    return done ? is(c, 7, count_, [&](std::size_t i) { return value(0, me * count_ + i); }) : done;
  }

 private:
  static constexpr std::size_t kPlaces = 8;

  int* at(std::size_t place) const { return words_ + place * place_; }
  Result<void> is(Context& c, std::size_t place, std::size_t words,
                  const std::function<int(std::size_t)>& expected) const {
    return test::all_are(c, at(place), words, "place " + std::to_string(place) + ", word",
                         expected);
  }

  std::size_t place_;
  int* words_;
  std::size_t count_;
  int n_;
  int root_;
};

Result<void> run_rounds(Context& c, bool blocking) {
  const int n = c.n_pes();
  Result<int*> source = c.allocate<int>(static_cast<std::size_t>(n) * kMost);
  if (!source) return source.error();
  Result<int*> words = c.allocate<int>(Round::words_for(n));
  if (!words) return words.error();
  const auto mine = [&](std::size_t i) { return value(c.my_pe(), i); };
  Result<void> done = test::fill(c, *source, static_cast<std::size_t>(n) * kMost, mine);
  for (int round = 0; round < kRounds && done; ++round) done = Round(*words, round, n).prepare(c);
  if (done) done = c.barrier();
  const HostCalls calls = blocking ? HostCalls::blocking(c) : HostCalls::on_stream(c, c.stream());
  for (int round = 0; round < kRounds && done; ++round) {
    done = Round(*words, round, n).ask(calls.team(kTeamWorld), *source, c.my_pe());
  }
  if (done) done = calls.barrier_all();
  if (done) done = c.synchronize(c.stream());
  for (int round = 0; round < kRounds && done; ++round) done = Round(*words, round, n).check(c);
  return done;
}

class HostCollectives : public testing::TestWithParam<int> {};

TEST_P(HostCollectives, FollowEachOtherWhenAskedOneByOne) {
  expect_job(GetParam(), job_options(), [](Context& c) { return run_rounds(c, true); });
}

TEST_P(HostCollectives, FollowEachOtherOnAStream) {
  expect_job(GetParam(), job_options(), [](Context& c) { return run_rounds(c, false); });
}

INSTANTIATE_TEST_SUITE_P(Pes, HostCollectives, testing::Range(1, 10));

}  // namespace
}  // namespace gdakit

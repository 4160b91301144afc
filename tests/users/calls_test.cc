// Every call that a world notes: it does what Pe's and TeamHandle's do, and stands in the trace by
// its name and its line.
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test.h"

namespace gdakit::users {
namespace {

using ::testing::UnorderedElementsAreArray;
using Word = std::uint64_t;

struct CallAll {
  Word* from;
  Word* to;
  Word* signal;
  Word* sum;
  Lock* lock;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.barrier_all();
    pe.sync_all();
    if (pe.my_pe() != 0) return;
    puts_and_gets(pe);
    strided(pe);
    signals(pe);
    waits(pe);
    tests(pe);
    atomics(pe);
    atomics_not_waited_for(pe);
    pe.fence();
    pe.set_lock(lock);
    pe.clear_lock(lock);
    pe.test_lock(lock);
    pe.clear_lock(lock);
    pe.on_queue(1).quiet();
    pe.block().quiet();
    pe.warp().quiet();
  }

  template <class Pe>
  GDAKIT_DEVICE void puts_and_gets(Pe& pe) const {
    pe.put(to, from, 1, 1);
    pe.put_nbi(to, from, 1, 1);
    pe.wait(pe.put_async(to, from, 1, 1));
    pe.put_bytes(to, from, 8, 1);
    pe.put_bytes_nbi(to, from, 8, 1);
    pe.test(pe.put_bytes_async(to, from, 8, 1));
    pe.quiet();
    pe.put_value(to, 7, 1);
    pe.quiet();
    pe.get(to, from, 1, 1);
    pe.get_nbi(to, from, 1, 1);
    pe.wait(pe.get_async(to, from, 1, 1));
    pe.get_bytes(to, from, 8, 1);
    pe.get_bytes_nbi(to, from, 8, 1);
    pe.wait(pe.get_bytes_async(to, from, 8, 1));
    pe.quiet();
    pe.get_value(from, 1);
  }

  template <class Pe>
  GDAKIT_DEVICE void strided(Pe& pe) const {
    pe.iput(to, from, 1, 1, 1, 1);
    pe.iput_nbi(to, from, 1, 1, 1, 1);
    pe.wait(pe.iput_async(to, from, 1, 1, 1, 1));
    pe.iget(to, from, 1, 1, 1, 1);
    pe.iget_nbi(to, from, 1, 1, 1, 1);
    pe.wait(pe.iget_async(to, from, 1, 1, 1, 1));
    pe.quiet();
  }

  template <class Pe>
  GDAKIT_DEVICE void signals(Pe& pe) const {
    pe.put_signal(to, from, 1, signal, 1, SignalOp::set, 1);
    pe.put_signal_nbi(to, from, 1, signal, 1, SignalOp::add, 1);
    pe.wait(pe.put_signal_async(to, from, 1, signal, 1, SignalOp::add, 1));
    pe.put_signal_bytes(to, from, 8, signal, 1, SignalOp::add, 1);
    pe.put_signal_bytes_nbi(to, from, 8, signal, 1, SignalOp::add, 1);
    pe.wait(pe.put_signal_bytes_async(to, from, 8, signal, 1, SignalOp::add, 1));
    pe.signal(signal, 9, SignalOp::set, 1);
    pe.signal(signal, 9, SignalOp::add, 1);
    pe.quiet();
    pe.signal_fetch(signal);
    pe.signal_wait_until(signal, Compare::eq, 0);
  }

  template <class Pe>
  GDAKIT_DEVICE void waits(Pe& pe) const {
    std::size_t index = 0;
    std::size_t found = 0;
    pe.wait_until(signal, Compare::ge, 0);
    pe.wait_until_all(signal, 1, nullptr, Compare::le, 0);
    pe.wait_until_any(signal, 1, nullptr, Compare::lt, 1, &index);
    pe.wait_until_some(signal, 1, nullptr, Compare::ne, 1, &index, &found);
    const Word values[] = {0};
    pe.wait_until_all_vector(signal, 1, nullptr, Compare::eq, values);
    pe.wait_until_any_vector(signal, 1, nullptr, Compare::eq, values, &index);
    pe.wait_until_some_vector(signal, 1, nullptr, Compare::eq, values, &index, &found);
  }

  template <class Pe>
  GDAKIT_DEVICE void tests(Pe& pe) const {
    std::size_t index = 0;
    const Word values[] = {0};
    pe.test(signal, Compare::gt, 0);
    pe.test_all(signal, 1, nullptr, Compare::eq, 0);
    pe.test_any(signal, 1, nullptr, Compare::eq, 0);
    pe.test_some(signal, 1, nullptr, Compare::eq, 0, &index);
    pe.test_all_vector(signal, 1, nullptr, Compare::eq, values);
    pe.test_any_vector(signal, 1, nullptr, Compare::eq, values);
    pe.test_some_vector(signal, 1, nullptr, Compare::eq, values, &index);
  }

  template <class Pe>
  GDAKIT_DEVICE void atomics(Pe& pe) const {
    pe.atomic_set(sum, 1, 1);
    pe.atomic_add(sum, 1, 1);
    pe.atomic_inc(sum, 1);
    pe.atomic_and(sum, 1, 1);
    pe.atomic_or(sum, 6, 1);
    pe.atomic_xor(sum, 1, 1);
    pe.atomic_fetch(sum, 1);
    pe.atomic_fetch_add(sum, 1, 1);
    pe.atomic_fetch_inc(sum, 1);
    pe.atomic_swap(sum, 12, 1);
    pe.atomic_compare_swap(sum, 12, 8, 1);
    pe.atomic_fetch_and(sum, 8, 1);
    pe.atomic_fetch_or(sum, 1, 1);
    pe.atomic_fetch_xor(sum, 3, 1);
  }

  template <class Pe>
  GDAKIT_DEVICE void atomics_not_waited_for(Pe& pe) const {
    pe.atomic_fetch_nbi(to, sum, 1);
    pe.atomic_fetch_add_nbi(to, sum, 2, 1);
    pe.atomic_fetch_inc_nbi(to, sum, 1);
    pe.atomic_swap_nbi(to, sum, 5, 1);
    pe.atomic_compare_swap_nbi(to, sum, 5, 12, 1);
    pe.atomic_fetch_and_nbi(to, sum, 8, 1);
    pe.atomic_fetch_or_nbi(to, sum, 3, 1);
    pe.atomic_fetch_xor_nbi(to, sum, 1, 1);
    pe.quiet();
  }
};

sim::Exploration explored(Word wanted) {
  sim::World world("all calls", {.pes = 2});
  const CallAll kernel{world.allocate<Word>("from", 1), world.allocate<Word>("to", 1),
                       world.allocate<Word>("signal", 1, sim::RegionKind::signal),
                       world.allocate<Word>("sum", 1), world.allocate<Lock>("lock", 1)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  world.check([=](sim::After& after) {
    after.expect_eq("the sum", after.value(1, kernel.sum), wanted);
    after.expect_eq("the signal", after.value(1, kernel.signal), 18);
  });
  return sim::explore_in_test(world, {.schedules = 20, .shrink = false});
}

TEST(NotedCalls, DoWhatPesDo) {
  const sim::Exploration found = explored(10);
  EXPECT_TRUE(found.passed()) << found.report();
}

constexpr const char* kAllCalls =
    "barrier_all sync_all put put_nbi put_async put_bytes put_bytes_nbi put_bytes_async "
    "put_value get get_nbi get_async get_bytes get_bytes_nbi get_bytes_async get_value "
    "put_signal put_signal_nbi put_signal_async put_signal_bytes put_signal_bytes_nbi "
    "put_signal_bytes_async signal signal_fetch signal_wait_until wait_until "
    "wait_until_all wait_until_any wait_until_some test wait quiet fence set_lock "
    "clear_lock test_lock atomic_set atomic_add atomic_inc atomic_and atomic_or "
    "atomic_xor atomic_fetch atomic_fetch_add atomic_fetch_inc atomic_swap "
    "atomic_compare_swap atomic_fetch_and atomic_fetch_or atomic_fetch_xor iput iput_nbi "
    "iput_async iget iget_nbi iget_async wait_until_all_vector wait_until_any_vector "
    "wait_until_some_vector test_all test_any test_some test_all_vector test_any_vector "
    "test_some_vector atomic_fetch_nbi atomic_fetch_add_nbi atomic_fetch_inc_nbi "
    "atomic_swap_nbi atomic_compare_swap_nbi atomic_fetch_and_nbi atomic_fetch_or_nbi "
    "atomic_fetch_xor_nbi ";

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The first word of each, where there may be more than the name.
TEST(NotedCalls, StandInTheTraceWithNameAndLine) {
  const sim::Exploration found = explored(11);
  ASSERT_FALSE(found.passed());
  std::set<std::string> names;
  for (const sim::Event& event : found.failure->trace.events) {
    if (event.kind != sim::EventKind::call) continue;
    names.insert(event.what.substr(0, event.what.find(' ')));
    EXPECT_TRUE(event.file.ends_with("calls_test.cc")) << event.file;
    EXPECT_GT(event.line, 20u);
    EXPECT_LT(event.line, 160u) << event.what;
  }
  EXPECT_THAT(names, UnorderedElementsAreArray(words(kAllCalls)));
}

}  // namespace
}  // namespace gdakit::users

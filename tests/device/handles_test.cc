// What a handle remembers from one post to the next, and what it may believe of that.
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::expect_job;
using test::in_turn;
using test::job_options;
using test::mismatch;

// Puts of every size about the largest message, the end of the heap and nothing, by one handle,
// which remembers from each where both sides lay.
struct PutAtLimits {
  unsigned char* target;
  const unsigned char* source;
  std::size_t most;  // of one message
  std::size_t left;  // of the heap from `target` on
  bool exclusively;
  std::uint32_t queue;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (exclusively) {
      auto own = pe.exclusively_on(queue);
      put(pe, own);
    } else {
      put(pe, pe);
    }
  }

  template <class Pe, class Handle>
  GDAKIT_DEVICE void put(Pe& pe, Handle& handle) const {
    const int other = 1 - pe.my_pe();
    expect(pe, !handle.put_bytes_async(nullptr, nullptr, 1, -1).status.ok());
    const std::uint64_t first = handle.put_async(target, source, 1, other).index;
    const auto wqes = [&](std::size_t bytes, Batch batch = Batch::last) {
      const Ticket ticket = handle.put_async(target, source, bytes, other, batch);
      return ticket.status.ok() && ticket.index != 0 ? ticket.index - first : 0;
    };
    expect(pe, wqes(most) == 1);
    expect(pe, wqes(most + 1, Batch::more) == 3);
    expect(pe, wqes(2) == 4);
    expect(pe, wqes(0) == 0);
    expect(pe, !handle.put_async(target, source, left + 1, other).status.ok());
    expect(pe, !handle.put_async(target, source, ~std::size_t{0}, other).status.ok());
    expect(pe, !handle.put_async(target, source, 1, -1).status.ok());
    expect(pe, wqes(most) == 5);
    expect(pe, handle.quiet().ok());
  }
};

TEST(Handle, KnowsTheLimitsOfWhatItRemembers) {
  constexpr std::size_t kMost = 10'000;
  Options options = in_turn(job_options());
  options.transport = TransportChoice::nic;
  BackendLimits limits;
  limits.max_message_bytes = kMost;
  test::LimitedProvider provider(limits);
  expect_job(2, options, provider, [&](Context& c) -> Result<void> {
    auto target = c.allocate<unsigned char>(kMost + 1);
    auto source = c.allocate<unsigned char>(kMost + 1);
    auto checks = Checks::make(c);
    auto queue = c.add_queues(1, Sharing::exclusive);
    if (!target || !source || !checks || !queue) return mismatch("allocate");
    const HeapView heap = c.device_context().heap;
    const std::size_t left = heap.end - reinterpret_cast<std::uint64_t>(*target);
    for (const bool exclusively : {false, true}) {
      const PutAtLimits kernel{*target,     *source, kMost,           left,
                               exclusively, *queue,  checks->expect()};
      const auto ran = c.launch(kernel, {.blocks = 1, .threads = 1});
      if (ran) return mismatch("launch did not report what was refused");
    }
    return checks->all_held(20);
  });
}

// Takes a shared queue on which a batch stands open for an exclusive one.
struct QuietBySomebodyElse {
  std::uint64_t* words;  // 2
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int other = 1 - pe.my_pe();
    expect(pe, pe.put_value(words, 1, other, Batch::more).ok());
    auto wrong = pe.exclusively_on(0);
    expect(pe, wrong.quiet().ok());
    expect(pe, !wrong.put_value(words, 2, other).ok());
    expect(pe, pe.put_value(words + 1, 1, other).ok());
    expect(pe, pe.quiet().ok());
  }
};

TEST(Handle, ThatTakesASharedQueueForItsOwnLeavesItAlone) {
  Options options = in_turn(job_options());
  options.transport = TransportChoice::nic;
  expect_job(2, options, [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    const QuietBySomebodyElse kernel{*words, checks->expect()};
    const auto ran = c.launch(kernel, {.blocks = 1, .threads = 1});
    if (ran) return mismatch("launch did not report the wrong handle");
    if (auto held = checks->all_held(5); !held) return held;
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *words, 2, "word", [](std::size_t) { return 1; });
  });
}

}  // namespace
}  // namespace gdakit

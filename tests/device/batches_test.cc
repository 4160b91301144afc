// How batches end: whatever the last call of a batch does, be it that it moves nothing, is refused
// or goes directly, what the batch has left open is announced to the NIC when the call returns.
#include <vector>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::Kernels;
using test::mismatch;

using Word = std::uint64_t;

// By a number, so that one kernel has them all.
enum End {
  put_of_a_word,
  value,
  fetched_value,
  get_of_a_word,
  strided,
  put_of_nothing,
  get_of_nothing,
  strided_of_nothing,
  blocking_put_of_nothing,
  put_from_stranger,
  strided_from_stranger,
  stride_of_0,
  value_to_stranger,
  value_of_stranger,
  unaligned,
  unaligned_fetch,
  fetch_to_stranger,
  signal_from_stranger,
  signal_at_stranger,
  all_ends,
};

template <class Pe>
GDAKIT_DEVICE bool is_announced(Pe& pe, std::uint32_t queue, int to) {
  const auto index = queue * static_cast<std::uint32_t>(pe.n_pes()) + static_cast<unsigned>(to);
  const QueueState* const state = pe.context().queues[index].state;
  auto& m = pe.machine();
  return m.load(order::RelaxedGpu{}, &state->posted) ==
         m.load(order::RelaxedGpu{}, &state->reserved);
}

struct EndsOfBatches {
  Word* words;     // 8 of the heap
  Word* stranger;  // neither there nor registered
  std::uint32_t exclusive;
  int to;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto shared = pe.on_queue(0);
    end_each(pe, shared, 0);
    auto own = pe.exclusively_on(exclusive);
    end_each(pe, own, exclusive);
  }

 private:
  template <class Pe, class Handle>
  GDAKIT_DEVICE void end_each(Pe& pe, Handle& handle, std::uint32_t queue) const {
    int open = 0;
    for (int end = 0; end < all_ends; ++end) {
      expect(pe, handle.atomic_add(words, Word{1}, to, Batch::more).ok());
      open += is_announced(pe, queue, to) ? 0 : 1;
      finish(handle, end);
      expect(pe, is_announced(pe, queue, to));
    }
    expect(pe, open >= all_ends - 2);  // what crosses a quarter of the queue is announced at once
    expect(pe, handle.quiet().ok());
  }

  template <class Handle>
  GDAKIT_DEVICE void finish(Handle& handle, int end) const {
    Word* const data = words + 1;
    auto* const skewed = reinterpret_cast<Word*>(reinterpret_cast<char*>(words) + 4);
    switch (end) {
      case put_of_a_word: handle.put_nbi(data, data + 1, 1, to); break;
      case value: handle.put_value(data, 1, to); break;
      case fetched_value: handle.get_value(data, to); break;
      case get_of_a_word: handle.get_nbi(data + 2, data, 1, to); break;
      case strided: handle.iput_nbi(data, data + 3, 2, 1, 2, to); break;
      case put_of_nothing: handle.put_nbi(data, data + 1, 0, to); break;
      case get_of_nothing: handle.get_nbi(data, data + 1, 0, to); break;
      case strided_of_nothing: handle.iget_nbi(data, data + 1, 2, 2, 0, to); break;
      case blocking_put_of_nothing: handle.put(data, data + 1, 0, to); break;
      case put_from_stranger: handle.put_nbi(data, stranger, 1, to); break;
      case strided_from_stranger: handle.iput_nbi(data, stranger, 2, 2, 2, to); break;
      case stride_of_0: handle.iput_nbi(data, data + 1, 0, 1, 2, to); break;
      case value_to_stranger: handle.put_value(stranger, 1, to); break;
      case value_of_stranger: handle.get_value(stranger, to); break;
      case unaligned: handle.atomic_add(skewed, Word{1}, to); break;
      case unaligned_fetch: handle.atomic_fetch_add(skewed, Word{1}, to); break;
      case fetch_to_stranger: handle.atomic_fetch_inc_nbi(stranger, words, to); break;
      case signal_from_stranger:
        handle.put_signal_nbi(data, stranger, 1, words + 7, 1, SignalOp::add, to);
        break;
      case signal_at_stranger: handle.signal(stranger, 1, SignalOp::add, to); break;
    }
  }
};

// PE 0 ends batches to PE 1 in every way.
Result<void> end_each(Context& c) {
  auto words = c.allocate<Word>(8);
  auto checks = Checks::make(c);
  Result<std::uint32_t> exclusive = c.add_queues(1, Sharing::exclusive);
  if (!words || !checks || !exclusive) return mismatch("set up");
  if (c.my_pe() == 0) {
    std::vector<Word> stranger(8);
    const EndsOfBatches kernel{*words, stranger.data(), *exclusive, 1, checks->expect()};
    if (c.launch(kernel, {.blocks = 1, .threads = 1})) return mismatch("nothing was refused");
    c.clear_reports();
    if (auto held = checks->all_held(2 * (2 * all_ends + 2)); !held) return held;
  }
  if (auto met = c.barrier(); !met) return met;
  return c.my_pe() == 1 ? test::is(c, *words, 2 * all_ends, "the sum") : Result<void>();
}

Options with_transport(TransportChoice transport) {
  Options options = job_options();
  options.transport = transport;
  return options;
}

TEST(Batches, AreAnnouncedWhateverTheirLastCallDoes) {
  expect_job(2, with_transport(TransportChoice::nic), end_each, Kernels::of_one_pe);
}

// PEs 0 and 1 put to each other directly; their atomics go through the NIC, since PE 2 has no other
// way to their heaps.
test::LimitedProvider two_of_three() {
  return test::LimitedProvider([](int rank) {
    BackendLimits limits;
    limits.direct_peers = rank != 2;
    return limits;
  });
}

TEST(Batches, AreAnnouncedWhenTheirLastCallGoesDirectly) {
  test::LimitedProvider provider = two_of_three();
  expect_job(3, with_transport(TransportChoice::direct), provider, end_each, Kernels::of_one_pe);
}

// All lanes of a warp leave a batch open together; one of them, or the warp, ends it.
struct LanesAndOne {
  Word* words;
  int to;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (unsigned ends = 0; ends < 4; ++ends) {
      expect(pe, pe.put_value(words + m.lane(), ends + 1, to, Batch::more).ok());
      m.sync_warp(whole_warp(m));
      if (ends == 3) {
        expect(pe, pe.warp().put_nbi(words, words, 0, to).ok());
      } else {
        if (m.lane() == 15 * ends) expect(pe, pe.put_nbi(words, words, 0, to).ok());
        m.sync_warp(whole_warp(m));
        if (m.lane() == 15 * ends) expect(pe, is_announced(pe, 0, to));
      }
      m.sync_warp(whole_warp(m));
      expect(pe, is_announced(pe, 0, to));
      m.sync_warp(whole_warp(m));
    }
    expect(pe, pe.quiet().ok());
  }
};

TEST(Batches, OfManyLanesAreEndedByAnyOfThem) {
  expect_job(
      2, with_transport(TransportChoice::nic),
      [](Context& c) -> Result<void> {
        constexpr std::uint32_t kLanes = 32;
        auto words = c.allocate<Word>(kLanes);
        auto checks = Checks::make(c);
        if (!words || !checks) return mismatch("allocate");
        if (c.my_pe() == 0) {
          const LanesAndOne kernel{*words, 1, checks->expect()};
          if (auto ran = c.launch(kernel, {.blocks = 1, .threads = kLanes}); !ran) return ran;
          if (auto held = checks->all_held(kLanes * 10 + 6); !held) return held;
        }
        if (auto met = c.barrier(); !met) return met;
        if (c.my_pe() == 0) return {};
        return test::all_are(c, *words, kLanes, "word", [](std::size_t) { return 4; });
      },
      Kernels::of_one_pe);
}

}  // namespace
}  // namespace gdakit

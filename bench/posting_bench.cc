// What does it cost a thread to post one put? The NIC is out of the way: the bench completes the
// queue itself, so that nobody ever waits. Times are per put, on the CPU emulator with its real
// atomics; the counts of atomics and fences behind them are what carries over to a GPU.
#include <benchmark/benchmark.h>

#include "device/pe.h"
#include "sim/emulator.h"
#include "tests/device/stub_nic.h"

namespace gdakit {
namespace {

constexpr std::uint32_t kDepth = 1024;

// A PE whose queues end in nothing, with one heap of its own.
struct Bench {
  explicit Bench(Sharing sharing)
      : queue(kDepth, sharing), heap(4096), view(queue.view()), chunk(range_of_heap()) {
    context.n_pes = 1;
    context.queues = &view;
    context.queue_count = 1;
    context.mapped_queues = spread_over(1);
    context.heap.base = chunk.begin;
    context.heap.end = chunk.end;
    context.heap.chunks = &chunk;
    context.heap.chunk_count = context.heap.chunk_room = context.heap.nics = 1;
    context.heap.rkeys = &rkey;
    context.heap.remote_bases = &chunk.begin;
    context.max_message_bytes = 1 << 30;
    context.state = &state;
  }

  LocalRange range_of_heap() const {
    const auto begin = reinterpret_cast<std::uint64_t>(heap.data());
    return {begin, begin + heap.size() * sizeof(heap[0]), Be32{1}};
  }

  // Says that all that was announced has completed.
  void complete_all() { queue.complete(queue.state().posted - 1); }

  test::StubQueue queue;
  std::vector<std::uint64_t> heap;
  QueueView view;
  LocalRange chunk;
  Be32 rkey{2};
  PeState state{};
  DeviceContext context{};
};

// `act(pe, word)` posts one put; every thread of `shape` calls it `puts` times.
template <class Act>
void measure(benchmark::State& state, Sharing sharing, LaunchShape shape, Act act) {
  constexpr std::uint32_t kPuts = 4000;
  Bench bench(sharing);
  for (auto _ : state) {
    std::uint64_t spent_ns = 0;
    const Result<void> ran = sim::launch(shape, {}, [&](sim::HostMachine& m) {
      Pe<sim::HostMachine> pe(m, bench.context);
      std::uint64_t* const word = bench.heap.data() + m.thread_index();
      const std::uint64_t begin = m.clock_ns();
      for (std::uint32_t i = 0; i < kPuts; ++i) {
        act(pe, word);
        if (m.thread_index() == 0 && i % 2 == 1) bench.complete_all();
      }
      if (m.thread_index() == 0) spent_ns = m.clock_ns() - begin;
    });
    if (!ran) return state.SkipWithError(ran.error().message().c_str());
    state.SetIterationTime(static_cast<double>(spent_ns) * 1e-9);
  }
  const double puts = static_cast<double>(shape.threads) * kPuts;
  state.counters["per_put"] = benchmark::Counter(
      puts, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void Exclusive(benchmark::State& state) {
  measure(state, Sharing::exclusive, {1, 1},
          [](auto& pe, std::uint64_t* word) { pe.exclusively_on(0).put_value(word, 1, 0); });
}
BENCHMARK(Exclusive)->UseManualTime();

void SharedUncontended(benchmark::State& state) {
  measure(state, Sharing::shared, {1, 1},
          [](auto& pe, std::uint64_t* word) { pe.put_value(word, 1, 0); });
}
BENCHMARK(SharedUncontended)->UseManualTime();

// Eight warps, all lanes posting: a warp's lanes post together, with one reservation and one
// publication.
void SharedByEightWarps(benchmark::State& state) {
  measure(state, Sharing::shared, {1, 256},
          [](auto& pe, std::uint64_t* word) { pe.put_value(word, 1, 0); });
}
BENCHMARK(SharedByEightWarps)->UseManualTime();

}  // namespace
}  // namespace gdakit

BENCHMARK_MAIN();

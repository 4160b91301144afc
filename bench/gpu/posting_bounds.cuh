// What the hardware allows, measured beside the posting cells: the parts of a post by themselves.
#pragma once

#include "bench/gpu/cuda_parts.cuh"
#include "bench/report.h"
#include "device/cuda_machine.cuh"
#include "device/ring.h"

namespace gdakit::bench {

// The first of several results that is an error.
inline Result<void> first_error(Result<void> only) { return only; }
template <class... Rest>
Result<void> first_error(Result<void> first, Rest... rest) {
  return first ? first_error(std::move(rest)...) : first;
}

// Milliseconds of GPU time between two points of the default stream.
class GpuTimer {
 public:
  Result<void> create() { return first_error(begin_.create(), end_.create()); }
  // Milliseconds of what `launch` launches. Errors: what CUDA says of the launch or of its end.
  template <class Launch>
  Result<double> measure(Launch&& launch) {
    cudaEventRecord(begin_.get());
    launch();
    if (auto launched = check(cudaGetLastError(), "launching a kernel"); !launched) {
      return launched.error();
    }
    cudaEventRecord(end_.get());
    const auto waited = check(cudaEventSynchronize(end_.get()), "waiting for a kernel");
    if (!waited) return waited.error();
    float ms = 0;
    const auto read =
        check(cudaEventElapsedTime(&ms, begin_.get(), end_.get()), "cudaEventElapsedTime");
    if (!read) return read.error();
    return double{ms};
  }

 private:
  CudaEvent begin_, end_;
};

// One thread rings again and again: two fences, the record, the doorbell, and nothing else.
__global__ void ring_only(std::uint32_t* record, std::uint64_t* doorbell, unsigned turns) {
  CudaMachine m(Scope::gpu);
  for (unsigned i = 0; i < turns; ++i) {
    m.fence(order::WqeBeforeDoorbellRecord{});
    m.store(order::RelaxedNic{}, record, i);
    m.fence(order::RecordBeforeDoorbell{});
    m.store_mmio(doorbell, i);
  }
}

// Each thread stores the 48 bytes of a put's WQE in turn into slots of its own.
__global__ void store_only(format::Segment* slots, unsigned slots_mask, unsigned turns) {
  CudaMachine m(Scope::gpu);
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = 0; i < turns; ++i) {
    const unsigned slot = (i * gridDim.x * blockDim.x + thread) & slots_mask;
    const format::Segment segment{i, thread};
    for (unsigned part = 0; part < 3; ++part) m.store_weak(&slots[slot * 4 + part], segment);
  }
}

// Each thread adds to one word and waits for the old value.
__global__ void atomics_only(std::uint64_t* word, std::uint64_t* sink, unsigned turns) {
  CudaMachine m(Scope::gpu);
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < turns; ++i) {
    // The next one cannot begin before this one's result is there.
    sum += m.fetch_add(order::RelaxedGpu{}, word + (sum >> 63), 1);
  }
  if (sum == ~0ull) *sink = sum;
}

struct Bounds {
  double ring_ns;    // two fences, record and doorbell; one thread
  double wqe_ns;     // one WQE's stores; one thread
  double atomic_ns;  // one returning atomic; one thread
};

struct AtomicRate {
  double per_s;  // returning atomics on one word, by all threads
};

inline Result<AtomicRate> measure_atomics(unsigned blocks, unsigned threads, bool quick) {
  DeviceWords word;
  GpuTimer timer;
  const auto done = first_error(word.allocate(2), timer.create());
  if (!done) return done.error();
  const unsigned turns = (quick ? 100 : 20000) / (blocks * threads > 1000 ? 20 : 1);
  auto ms =
      timer.measure([&] { atomics_only<<<blocks, threads>>>(word.get(), word.get() + 1, turns); });
  if (!ms) return ms.error();
  return AtomicRate{1e3 / ms.value() * turns * blocks * threads};
}

inline Result<double> measure_wqe_stores(unsigned blocks, unsigned threads, bool quick) {
  constexpr unsigned kSlots = 1 << 16;
  DeviceMemory<format::Segment> slots;
  GpuTimer timer;
  const auto done = first_error(slots.allocate(kSlots * 4), timer.create());
  if (!done) return done.error();
  const unsigned turns = quick ? 100 : 20000;
  auto ms = timer.measure([&] { store_only<<<blocks, threads>>>(slots.get(), kSlots - 1, turns); });
  if (!ms) return ms.error();
  return 1e3 / ms.value() * turns * blocks * threads;
}

inline Result<double> measure_ring(bool quick) {
  DeviceMemory<std::uint32_t> record;
  PinnedWords doorbell;
  GpuTimer timer;
  const auto done = first_error(record.allocate(16), doorbell.allocate(1), timer.create());
  if (!done) return done.error();
  const unsigned turns = quick ? 100 : 20000;
  auto ms = timer.measure([&] { ring_only<<<1, 1>>>(record.get(), doorbell.get(), turns); });
  if (!ms) return ms.error();
  return ms.value() * 1e6 / turns;
}

// Adds a table of the bounds to the report.
inline Result<Bounds> measure_bounds(Report& report, bool quick) {
  auto ring = measure_ring(quick);
  if (!ring) return ring.error();
  auto atomic = measure_atomics(1, 1, quick);
  if (!atomic) return atomic.error();
  Table& table = report.add_table("the parts of a post by themselves",
                                  {{"what"}, {"by"}, {"each", "ns"}, {"all", "M/s"}}, "bounds");
  table.add_row({"two fences, record, doorbell", "1 thread", ring.value(), 1e3 / ring.value()});
  table.add_row({"returning atomics on one word", "1 thread", 1e9 / atomic.value().per_s,
                 atomic.value().per_s / 1e6});
  struct Shape {
    const char* name;
    unsigned blocks, threads;
  };
  double wqe_ns = 0;
  for (const Shape& shape :
       {Shape{"132 x 256 threads", 132, 256}, Shape{"1 warp", 1, 32}, Shape{"1 thread", 1, 1}}) {
    auto rate = measure_wqe_stores(shape.blocks, shape.threads, quick);
    if (!rate) return rate.error();
    wqe_ns = 1e9 / rate.value();
    table.add_row({"WQEs stored", shape.name, wqe_ns, rate.value() / 1e6});
  }
  return Bounds{ring.value(), wqe_ns, 1e9 / atomic.value().per_s};
}

}  // namespace gdakit::bench

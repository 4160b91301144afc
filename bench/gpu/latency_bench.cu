// How long does one operation of 8 bytes take, from a GPU thread's call until it is complete?
//
// Two PEs in one process, on one GPU or on two (GDAKIT_GPUS=0,1). For each way in which the soft
// NIC can touch GPU memory, with the queues in GPU memory and in pinned host memory. Beside each
// median stands the sum of the primitives that the operation needs, measured in the same run
// (bench/gpu/primitives.h).
//
//   put from the WQE      put_value, quiet
//   put from memory       put_nbi, quiet
//   put_signal            half a round trip: put with signal, until the other PE's thread sees it
//   get, fetch-and-add    until the result is there
//
// Goals: 1.3 times the sum; 20 us with the copy engine; 8 us with queues in host memory.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/gpu/pe_gpu.cuh"
#include "bench/gpu/primitives.h"
#include "bench/program.h"
#include "bench/statistics.h"
#include "device/cuda_machine.cuh"

namespace gdakit::bench {
namespace {

using Word = std::uint64_t;
using DevicePe = Pe<CudaMachine>;

// In the symmetric heap of each PE.
struct Words {
  Word* target;
  Word* source;
  Word* signal;
  Word* samples;  // cycles, one for each round
  Word* clocks;   // Clocks of the whole run
};

struct PutFromWqe {
  static constexpr const char* name = "put from the WQE";
  static constexpr bool from_memory = false;
  __device__ static Status act(DevicePe& pe, const Words& words, Word i) {
    pe.put_value(words.target, i, 1);
    return pe.quiet();
  }
};

struct PutFromMemory {
  static constexpr const char* name = "put from memory";
  static constexpr bool from_memory = true;
  __device__ static Status act(DevicePe& pe, const Words& words, Word) {
    pe.put_nbi(words.target, words.source, 1, 1);
    return pe.quiet();
  }
};

struct Get {
  static constexpr const char* name = "get";
  static constexpr bool from_memory = true;
  __device__ static Status act(DevicePe& pe, const Words& words, Word) {
    Status status;
    pe.get_value(words.target, 1, &status);
    return status;
  }
};

struct FetchAdd {
  static constexpr const char* name = "fetch-and-add";
  static constexpr bool from_memory = true;
  __device__ static Status act(DevicePe& pe, const Words& words, Word) {
    Status status;
    pe.atomic_fetch_add(words.target, 1, 1, &status);
    return status;
  }
};

// By both PEs: each answers the other's signal. PE 0's rounds are round trips.
struct PutSignal {
  static constexpr const char* name = "put_signal";
  static constexpr bool from_memory = true;
  __device__ static Status act(DevicePe& pe, const Words& words, Word i) {
    const int peer = 1 - pe.my_pe();
    const auto send = [&] {
      return pe.put_signal_nbi(words.target, words.source, 1, words.signal, i, SignalOp::set, peer);
    };
    if (pe.my_pe() == 0) {
      if (const Status sent = send(); !sent) return sent;
      return pe.wait_until(words.signal, Compare::ge, i);
    }
    if (const Status seen = pe.wait_until(words.signal, Compare::ge, i); !seen) return seen;
    return send();
  }
};

template <class Operation>
__global__ void timed(const __grid_constant__ DeviceContext context, Words words,
                      std::uint32_t rounds) {
  CudaMachine m(context);
  DevicePe pe(m, context);
  const Word begin_ns = m.clock_ns();
  const long long begin = clock64();
  for (std::uint32_t i = 1; i <= rounds; ++i) {
    const long long before = clock64();
    if (!Operation::act(pe, words, i)) return;  // the host finds the reason in the PE's reports
    words.samples[i - 1] = static_cast<Word>(clock64() - before);
  }
  words.clocks[0] = static_cast<Word>(clock64() - begin);
  words.clocks[1] = m.clock_ns() - begin_ns;
}

struct Times {
  double median_us;
  double p99_us;
  double least_us;
};

// One way to run the two PEs.
struct Setting {
  DmaChoice dma;
  QueuePlace queues;
};

constexpr Setting kSettings[] = {
    {DmaChoice::copy_engine, QueuePlace::device}, {DmaChoice::copy_engine, QueuePlace::host},
    {DmaChoice::kernels, QueuePlace::device},     {DmaChoice::kernels, QueuePlace::host},
    {DmaChoice::gdrcopy, QueuePlace::device},     {DmaChoice::gdrcopy, QueuePlace::host},
};

struct Rounds {
  std::uint32_t warm_up;
  std::uint32_t timed;
};

Result<Words> allocate(Context& context, std::uint32_t samples) {
  Words words{};
  const auto one = [&](Word*& place, std::size_t count) -> Result<void> {
    Result<Word*> memory = context.allocate<Word>(count);
    if (!memory) return memory.error();
    place = *memory;
    return {};
  };
  if (auto done = one(words.target, 1); !done) return done.error();
  if (auto done = one(words.source, 1); !done) return done.error();
  if (auto done = one(words.signal, 1); !done) return done.error();
  if (auto done = one(words.samples, samples); !done) return done.error();
  if (auto done = one(words.clocks, 2); !done) return done.error();
  return words;
}

Result<Times> times_of(Context& context, const Words& words, std::uint32_t rounds, double share) {
  std::vector<Word> samples(rounds);
  Word clocks[2] = {};
  if (auto got = context.download(samples.data(), words.samples, rounds); !got) return got.error();
  if (auto got = context.download(clocks, words.clocks, 2); !got) return got.error();
  const Clocks run{clocks[0], clocks[1]};
  const auto us = [&](Word cycles) { return run.ns_of(cycles) / 1000 * share; };
  return Times{us(median(samples)), us(quantile(samples, 0.99)), us(quantile(samples, 1e-9))};
}

// On both PEs; PE 1 takes part in round trips only. Adds a row on PE 0.
template <class Operation>
Result<void> measure(PeGpu& gpu, const Words& words, Rounds rounds, const Setting& setting,
                     const Primitives& primitives, Table& table) {
  constexpr bool by_both = std::is_same_v<Operation, PutSignal>;
  Context& context = gpu.context();
  const bool takes_part = by_both || context.my_pe() == 0;
  for (const std::uint32_t count : {rounds.warm_up, rounds.timed}) {
    const Word zero = 0;
    if (auto done = context.upload(words.signal, &zero, 1); !done) return done;
    if (auto met = context.barrier(); !met) return met;
    if (takes_part) {
      timed<Operation><<<1, 1, 0, gpu.stream()>>>(context.device_context(), words, count);
      if (auto ran = gpu.finish(Operation::name); !ran) return ran;
    }
    if (auto met = context.barrier(); !met) return met;
  }
  if (context.my_pe() != 0) return {};
  Result<Times> times = times_of(context, words, rounds.timed, by_both ? 0.5 : 1.0);
  if (!times) return times.error();
  const std::optional<double> bound =
      primitives.sum_us(setting.dma, setting.queues, Operation::from_memory);
  table.add_row({Operation::name, dma_choice_name(setting.dma), queue_place_name(setting.queues),
                 times->median_us, times->p99_us, times->least_us, bound ? Cell(*bound) : Cell(),
                 bound ? Cell(times->median_us / *bound) : Cell(), Cell()});
  return {};
}

Result<void> measure_all(Context& context, Rounds rounds, const Setting& setting,
                         const Primitives& primitives, Table& table) {
  PeGpu gpu(context);
  if (auto ready = gpu.open(); !ready) return ready;
  Result<Words> words = allocate(context, std::max(rounds.timed, rounds.warm_up));
  if (!words) return words.error();
  const auto one = [&]<class Operation>(Operation) {
    return measure<Operation>(gpu, *words, rounds, setting, primitives, table);
  };
  if (auto done = one(PutFromWqe{}); !done) return done;
  if (auto done = one(PutFromMemory{}); !done) return done;
  if (auto done = one(PutSignal{}); !done) return done;
  if (auto done = one(Get{}); !done) return done;
  return one(FetchAdd{});
}

std::string first_line(const Error& error) {
  return error.message().substr(0, error.message().find('\n'));
}

void add_primitives(Report& report, const Primitives& found) {
  Table& table = report.add_table("the primitives by themselves, medians",
                                  {{"primitive", ""}, {"median", "us"}}, "primitives");
  table.add_row({"doorbell: half a round trip through pinned host memory", found.doorbell_us});
  table.add_row({"host load of 64 bytes that the GPU wrote", found.line_us});
  const auto method = [&](const std::string& name, const Primitives::Method& by) {
    table.add_row({name + ": fetch 64 bytes of GPU memory", by.fetch_us});
    table.add_row({name + ": payload and CQE, until a GPU thread sees the CQE", by.write_us});
    table.add_row({name + ": payload, until the host knows it is there", by.deliver_us});
  };
  method("copy-engine", found.copy_engine);
  method("kernels", found.kernels);
}

Result<void> run(Report& report, Rounds rounds) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  options->device = DeviceChoice::gpu;
  const int gpu = options->gpus.empty() ? 0 : static_cast<int>(options->gpus.front());
  Result<Primitives> primitives = measure_primitives(gpu, rounds.timed);
  if (!primitives) return primitives.error().within("primitives");
  add_primitives(report, *primitives);
  Table& table =
      report.add_table("operations of 8 bytes between two PEs, one at a time, by one thread",
                       {{"operation", ""},
                        {"DMA", ""},
                        {"queues in", ""},
                        {"median", "us"},
                        {"p99", "us"},
                        {"least", "us"},
                        {"sum of primitives", "us"},
                        {"ratio", ""},
                        {"note", ""}},
                       "latency");
  for (const Setting& setting : kSettings) {
    options->dma = setting.dma;
    options->queue_memory = setting.queues;
    Result<void> ran = run_in_process(2, *options, [&](Context& context) {
      return measure_all(context, rounds, setting, *primitives, table);
    });
    if (ran) continue;
    table.add_row({"all", dma_choice_name(setting.dma), queue_place_name(setting.queues), Cell(),
                   Cell(), Cell(), Cell(), Cell(), first_line(ran.error())});
  }
  report.add_note(
      "Goals: ratio at most 1.3; put at most 20 us by the copy engine with queues in "
      "GPU memory, at most 8 us with queues in host memory.");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  std::uint64_t rounds = 2000;
  Program program("latency_bench", "How long does one operation of 8 bytes take?");
  program.add_number("--rounds", &rounds, "Operations that are timed");
  return program.main(argc, argv, [&](Report& report) {
    const std::uint32_t timed = program.quick() ? 20 : static_cast<std::uint32_t>(rounds);
    return run(report, {.warm_up = timed / 10 + 1, .timed = timed});
  });
}

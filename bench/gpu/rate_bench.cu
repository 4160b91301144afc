// How many 8-byte puts a second do the soft NIC's threads take when a whole GPU posts?
//
// Each PE has a NIC of its own, whose thread is requester and responder of its puts: every PE puts
// to itself. So n PEs in one process are n NIC threads. The blocks of the GPU are shared out among
// the PEs; the lanes of a warp post together, one doorbell for all. Held against 5 million a second
// on one thread, and against that many times the rate of one thread.
#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/gpu/pe_gpu.cuh"
#include "bench/program.h"
#include "bench/statistics.h"
#include "device/cuda_machine.cuh"

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::uint64_t;

constexpr double kGoal = 5e6;
constexpr std::uint32_t kThreads = 128;

// Every thread puts 1 .. puts into a word of its own, from the WQE or out of `source`.
__global__ void put_words(const __grid_constant__ DeviceContext context, Word* target, Word* source,
                          std::uint32_t puts) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (Word i = 1; i <= puts; ++i) {
    if (source == nullptr) {
      pe.put_value(target + thread, i, pe.my_pe());
    } else {
      pe.put_nbi(target + thread, source + thread, 1, pe.my_pe());
    }
  }
  pe.block().quiet();
}

struct Setting {
  std::uint32_t pes;
  std::uint32_t queues;
  bool from_memory;
};

struct Size {
  std::uint64_t puts;  // of each PE in one run, at least
  std::uint32_t runs;
};

// What the PEs tell each other: they are threads of one process, and meet between writing and
// reading.
struct Shared {
  std::vector<Clock::time_point> begin;
  std::vector<Clock::time_point> end;
  std::vector<double> rates;  // of all PEs together, one for each run
  NicCounters nic;            // of PE 0
  std::uint32_t blocks = 0;   // of each PE
};

class PeRate {
 public:
  PeRate(Context& context, const Setting& setting, Shared& shared)
      : gpu_(context), setting_(setting), shared_(shared) {}

  Result<void> run(const Size& size) {
    if (auto ready = gpu_.open(); !ready) return ready;
    blocks_ = std::max(1u, gpu_.multiprocessors() / setting_.pes);
    const std::size_t threads = std::size_t{blocks_} * kThreads;
    Result<Word*> target = context().allocate<Word>(threads);
    if (!target) return target.error();
    Result<Word*> source = context().allocate<Word>(threads);
    if (!source) return source.error();
    const auto puts = static_cast<std::uint32_t>((size.puts + threads - 1) / threads);
    const std::vector<Word> values(threads, puts);
    if (auto done = context().upload(*source, values.data(), threads); !done) return done;
    for (std::uint32_t i = 0; i <= size.runs; ++i) {  // the first one warms up
      Word* const from = setting_.from_memory ? *source : nullptr;
      if (auto done = run_once(*target, from, puts, i > 0); !done) return done;
      if (auto right = verify(*target, values); !right) return right;
    }
    if (context().my_pe() == 0) {
      shared_.nic = context().nic_counters();
      shared_.blocks = blocks_;
    }
    return {};
  }

 private:
  Context& context() { return gpu_.context(); }

  Result<void> run_once(Word* target, Word* source, std::uint32_t puts, bool counts) {
    const auto pe = static_cast<std::size_t>(context().my_pe());
    const std::size_t bytes = std::size_t{blocks_} * kThreads * sizeof(Word);
    if (auto cleared = gpu_.clear(target, bytes); !cleared) return cleared;
    if (auto met = context().barrier(); !met) return met;
    shared_.begin[pe] = Clock::now();
    put_words<<<blocks_, kThreads, 0, gpu_.stream()>>>(context().device_context(), target, source,
                                                       puts);
    if (auto ran = gpu_.finish("puts"); !ran) return ran;
    shared_.end[pe] = Clock::now();
    if (auto met = context().barrier(); !met) return met;
    if (pe == 0 && counts) note_rate(puts);
    return context().barrier();
  }

  void note_rate(std::uint32_t puts) {
    const auto begin = *std::min_element(shared_.begin.begin(), shared_.begin.end());
    const auto end = *std::max_element(shared_.end.begin(), shared_.end.end());
    const double all = static_cast<double>(puts) * blocks_ * kThreads * setting_.pes;
    shared_.rates.push_back(all / std::chrono::duration<double>(end - begin).count());
  }

  Result<void> verify(Word* target, const std::vector<Word>& expected) {
    std::vector<Word> got(expected.size());
    if (auto done = context().download(got.data(), target, got.size()); !done) return done;
    if (got == expected) return {};
    return Error(Code::internal, "a put of the rate bench did not arrive");
  }

  PeGpu gpu_;
  Setting setting_;
  Shared& shared_;
  std::uint32_t blocks_ = 0;
};

Result<void> measure(const Options& base, const Setting& setting, const Size& size, double* one,
                     Table& table) {
  Options options = base;
  options.queues_per_peer = setting.queues;
  Shared shared;
  shared.begin.resize(setting.pes);
  shared.end.resize(setting.pes);
  Result<void> ran = run_in_process(static_cast<int>(setting.pes), options, [&](Context& context) {
    return PeRate(context, setting, shared).run(size);
  });
  if (!ran) return ran;
  const double rate = median(shared.rates);
  if (setting.pes == 1) *one = rate;
  const double doorbells = static_cast<double>(std::max<std::uint64_t>(1, shared.nic.doorbells));
  table.add_row({setting.pes, setting.queues, setting.from_memory ? "memory" : "WQE",
                 std::to_string(shared.blocks * setting.pes) + " x " + std::to_string(kThreads),
                 rate / 1e6, rate / setting.pes / kGoal, rate / *one,
                 static_cast<double>(shared.nic.wqes) / doorbells});
  return {};
}

Result<void> run(Report& report, std::uint32_t queues, const Size& size) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  options->device = DeviceChoice::gpu;
  Table& table = report.add_table("8-byte puts a second, the whole GPU posting",
                                  {{"NIC threads", ""},
                                   {"queues per PE", ""},
                                   {"payload from", ""},
                                   {"blocks x threads", ""},
                                   {"rate", "M/s"},
                                   {"per thread, of 5 M/s", ""},
                                   {"times one thread", ""},
                                   {"WQEs per doorbell", ""}},
                                  "rate");
  double one = 0;
  for (const std::uint32_t other : {1u, 4u, 64u}) {
    if (other == queues) continue;
    if (auto done = measure(*options, {1, other, false}, size, &one, table); !done) return done;
  }
  for (const bool from_memory : {false, true}) {
    for (const std::uint32_t pes : {1u, 2u, 4u}) {
      auto done = measure(*options, {pes, queues, from_memory}, size, &one, table);
      if (!done) return done;
    }
  }
  report.add_note("Goal: 5 M/s on one NIC thread, and growth with the threads up to 4.");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  std::uint64_t puts = 1'000'000;
  std::uint64_t runs = 5;
  std::uint64_t queues = 16;
  Program program("rate_bench", "How many 8-byte puts a second does the soft NIC take?");
  program.add_number("--puts", &puts, "Puts of each PE in one run");
  program.add_number("--runs", &runs, "Runs, of which the median counts");
  program.add_number("--queues", &queues, "Queues of each PE, 1 to 64");
  return program.main(argc, argv, [&](Report& report) {
    const Size size =
        program.quick() ? Size{20'000, 1} : Size{puts, static_cast<std::uint32_t>(runs)};
    return run(report, static_cast<std::uint32_t>(queues), size);
  });
}

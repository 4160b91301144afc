// What does it gain that the GPU's own threads post?
//
// The same kernels with each handler, one job of two PEs in this process after the other:
//
//   gpu        the thread writes the WQE and rings
//   proxy      the thread writes the WQE, a host thread rings
//   commands   the thread writes a command; a host thread writes the WQE, rings, polls, and passes
//              the completion on: the yardstick, as GPU libraries post without GPU-initiated NICs
//
// Latencies are of one thread on PE 0, one operation at a time, from the call until it is complete;
// a put with signal is half a round trip. The rate is of many threads, all of whose puts of 8 bytes
// go to PE 1. Each figure is the median of the runs. The last column is how many times worse
// `commands` is than `gpu`; 1 means that posting by the GPU gains nothing.
//
// This file is compiled twice: by the host's compiler for the emulator, and by nvcc for a GPU
// (bench/gpu/handlers_bench.cu). The emulator's host threads share the cores with the threads that
// they serve, so what it says of a GPU is the counts, not the times.
#include <array>
#include <chrono>
#include <vector>

#include "bench/program.h"
#include "bench/statistics.h"
#include "gdakit.h"

namespace gdakit::bench {
namespace {

using Word = std::uint64_t;

// In the symmetric heap of each PE.
struct Words {
  Word* target;
  Word* source;
  Word* signal;
  Word* ns;      // what the rounds took
  Word* counts;  // one of each thread that puts
};

struct PutQuiet {
  static constexpr const char* name = "put and quiet";
  static constexpr bool by_both = false;
  template <class Pe>
  GDAKIT_DEVICE static Status act(Pe& pe, const Words& words, Word i) {
    pe.put_value(words.target, i, 1);
    return pe.quiet();
  }
};

// By both PEs: each answers the other's signal. PE 0's rounds are round trips.
struct PutSignal {
  static constexpr const char* name = "put with signal, one way";
  static constexpr bool by_both = true;
  template <class Pe>
  GDAKIT_DEVICE static Status act(Pe& pe, const Words& words, Word i) {
    const int peer = 1 - pe.my_pe();
    if (pe.my_pe() == 1) {
      if (const Status seen = pe.wait_until(words.signal, Compare::ge, i); !seen) return seen;
    }
    const Status sent =
        pe.put_signal_nbi(words.target, words.source, 1, words.signal, i, SignalOp::set, peer);
    if (!sent || pe.my_pe() == 1) return sent;
    return pe.wait_until(words.signal, Compare::ge, i);
  }
};

struct FetchAdd {
  static constexpr const char* name = "fetch-and-add";
  static constexpr bool by_both = false;
  template <class Pe>
  GDAKIT_DEVICE static Status act(Pe& pe, const Words& words, Word) {
    Status status;
    pe.atomic_fetch_add(words.target, 1, 1, &status);
    return status;
  }
};

template <class Operation>
struct Rounds {
  Words words;
  Word count;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const Word begin = m.clock_ns();
    for (Word i = 1; i <= count; ++i) {
      if (!Operation::act(pe, words, i)) return;  // the host finds the reason in the PE's reports
    }
    m.store_weak(words.ns, m.clock_ns() - begin);
  }
};

struct PutMany {
  Word* counts;
  Word puts;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t me = m.block_index() * m.block_threads() + m.thread_index();
    for (Word i = 1; i <= puts; ++i) pe.put_value(counts + me, i, 1);
    pe.block().quiet();
  }
};

struct Size {
  Word rounds;        // of a latency
  Word puts;          // of each thread
  LaunchShape shape;  // of the threads that put
  std::uint64_t runs;
};

constexpr std::size_t kFigures = 4;
using Figures = std::array<double, kFigures>;
constexpr std::size_t kRate = kFigures - 1;

// What one PE does with one handler.
class PeBench {
 public:
  PeBench(Context& context, const Size& size) : context_(context), size_(size) {}

  Result<void> run(Figures& figures) {
    if (auto made = allocate(); !made) return made;
    if (auto ran = latency(PutQuiet{}, figures[0]); !ran) return ran;
    if (auto ran = latency(PutSignal{}, figures[1]); !ran) return ran;
    if (auto ran = latency(FetchAdd{}, figures[2]); !ran) return ran;
    return rate(figures[kRate]);
  }

 private:
  bool leads() const { return context_.my_pe() == 0; }

  Result<void> allocate() {
    const std::size_t threads = std::size_t{size_.shape.blocks} * size_.shape.threads;
    const std::pair<Word**, std::size_t> all[] = {{&words_.target, 1},
                                                  {&words_.source, 1},
                                                  {&words_.signal, 1},
                                                  {&words_.ns, 1},
                                                  {&words_.counts, threads}};
    for (const auto& [place, count] : all) {
      Result<Word*> memory = context_.allocate<Word>(count);
      if (!memory) return memory.error();
      *place = *memory;
    }
    return {};
  }

  // The first run warms up.
  template <class Run>
  Result<void> median_of_runs(double& figure, Run&& run_once) {
    std::vector<double> samples;
    for (std::uint64_t i = 0; i <= size_.runs; ++i) {
      if (auto met = context_.barrier(); !met) return met;
      Result<double> sample = run_once();
      if (!sample) return sample.error();
      if (i > 0) samples.push_back(*sample);
    }
    if (leads()) figure = median(samples);
    return context_.barrier();
  }

  template <class Operation>
  Result<void> latency(Operation, double& figure_us) {
    const auto run_once = [&]() -> Result<double> {
      const Word zero = 0;
      if (auto done = context_.upload(words_.signal, &zero, 1); !done) return done.error();
      if (auto met = context_.barrier(); !met) return met.error();
      if (!leads() && !Operation::by_both) return 0.0;
      auto ran = context_.launch(Rounds<Operation>{words_, size_.rounds}, {1, 1});
      if (!ran) return ran.error().within(Operation::name);
      Word ns = 0;
      if (auto got = context_.download(&ns, words_.ns, 1); !got) return got.error();
      const double parts = static_cast<double>(size_.rounds) * (Operation::by_both ? 2 : 1);
      return static_cast<double>(ns) / parts / 1000;
    };
    return median_of_runs(figure_us, run_once);
  }

  Result<void> rate(double& figure) {
    const std::size_t threads = std::size_t{size_.shape.blocks} * size_.shape.threads;
    const auto run_once = [&]() -> Result<double> {
      if (!leads()) return 0.0;
      const auto begin = std::chrono::steady_clock::now();
      auto ran = context_.launch(PutMany{words_.counts, size_.puts}, size_.shape);
      if (!ran) return ran.error().within("puts by many threads");
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      return static_cast<double>(threads * size_.puts) / spent.count();
    };
    if (auto ran = median_of_runs(figure, run_once); !ran) return ran;
    return leads() ? Result<void>() : verify(threads);
  }

  Result<void> verify(std::size_t threads) {
    std::vector<Word> got(threads);
    if (auto done = context_.download(got.data(), words_.counts, threads); !done) return done;
    if (got == std::vector<Word>(threads, size_.puts)) return {};
    return Error(Code::internal, "a put of the handlers' bench did not arrive");
  }

  Context& context_;
  Size size_;
  Words words_{};
};

void add_table(Report& report, const Size& size, const std::array<Figures, 3>& by_handler) {
  const std::string threads =
      std::to_string(size.shape.blocks) + " x " + std::to_string(size.shape.threads);
  const char* const names[kFigures] = {PutQuiet::name, PutSignal::name, FetchAdd::name, nullptr};
  Table& table = report.add_table("8 bytes between two PEs, by who posts",
                                  {{"operation", ""},
                                   {"unit", ""},
                                   {"gpu", ""},
                                   {"proxy", ""},
                                   {"commands", ""},
                                   {"commands worse by", ""}},
                                  "handlers");
  for (std::size_t i = 0; i < kFigures; ++i) {
    const bool is_rate = i == kRate;
    const double scale = is_rate ? 1e-6 : 1;
    const auto figure = [&](std::size_t handler) { return by_handler[handler][i] * scale; };
    const double worse = is_rate ? figure(0) / figure(2) : figure(2) / figure(0);
    table.add_row({is_rate ? "puts by " + threads + " threads" : std::string(names[i]),
                   is_rate ? "Mput/s" : "us", figure(0), figure(1), figure(2), worse});
  }
}

Result<void> run(Report& report, const Size& size) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  options->device = ThisCompiler::runs_on_gpu ? DeviceChoice::gpu : DeviceChoice::cpu;
  options->queue_memory = QueuePlace::automatic;  // a proxy must have it otherwise than the GPU
  constexpr NicHandler kHandlers[] = {NicHandler::gpu, NicHandler::proxy, NicHandler::commands};
  std::array<Figures, 3> by_handler{};
  for (std::size_t i = 0; i < by_handler.size(); ++i) {
    options->nic_handler = kHandlers[i];
    const Result<void> ran = run_in_process(2, *options, [&](Context& context) {
      Figures ignored;
      return PeBench(context, size).run(context.my_pe() == 0 ? by_handler[i] : ignored);
    });
    if (!ran) return ran.error().within(nic_handler_name(kHandlers[i]));
  }
  add_table(report, size, by_handler);
  report.add_note(
      "Queues lie where auto puts them: by gpu in the memory of the device, by the others in host "
      "memory, which their host thread reads and writes.");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit;
  using namespace gdakit::bench;
  constexpr bool on_gpu = ThisCompiler::runs_on_gpu;
  std::uint64_t rounds = on_gpu ? 2000 : 300;
  std::uint64_t puts = on_gpu ? 100 : 200;
  std::uint64_t blocks = on_gpu ? 64 : 4;
  std::uint64_t threads = on_gpu ? 128 : 64;
  std::uint64_t runs = 5;
  Program program("handlers_bench", "What does it gain that the GPU's own threads post?",
                  on_gpu ? Needs::gpu : Needs::nothing);
  program.add_number("--rounds", &rounds, "Operations of each latency in one run");
  program.add_number("--puts", &puts, "Puts of each of many threads in one run");
  program.add_number("--blocks", &blocks, "Blocks of the threads that put");
  program.add_number("--threads", &threads, "Threads of each block, at most 1024");
  program.add_number("--runs", &runs, "Runs, of which the median counts");
  return program.main(argc, argv, [&](Report& report) {
    const LaunchShape shape{static_cast<std::uint32_t>(blocks),
                            static_cast<std::uint32_t>(threads)};
    return run(report,
               program.quick() ? Size{20, 10, {2, 32}, 1} : Size{rounds, puts, shape, runs});
  });
}

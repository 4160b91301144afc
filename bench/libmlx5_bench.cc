// How fast is a soft ConnectX that is driven through libibverbs and libmlx5 (mlx5-emulated), held
// against the soft NIC's own backend? The goal is 0.95 of its speed.
//
//   gdakit verbs --nics 2 -- libmlx5_bench
//
//   put and quiet   one thread of PE 0, one 8-byte put at a time
//   put of many     puts of 8 bytes by many threads, and quiet of each block; the time of one put
//                   is what the message rate is the inverse of
//
// Of each kind, PEs that are processes and PEs that are threads of one process, there is a job of
// two PEs by each backend. Both live at the same time and take turns, so that what else the machine
// does slows both alike. Of processes, PE 0 has a core of its own: two threads that wait for each
// other take five times as long on one core, and which pair the system puts on one is chance.
//
// The figures are quantiles of all runs: the median, and the least that a tenth of the runs does
// not exceed, which is nearer to a machine that does nothing else.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "bench/program.h"
#include "bench/statistics.h"
#include "bench/two_pes.h"

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Size {
  std::uint64_t runs;
  std::uint64_t trips;
  std::uint64_t puts;  // of each thread
  LaunchShape shape;   // of the threads that put

  std::uint64_t all_puts() const { return std::uint64_t{shape.blocks} * shape.threads * puts; }
};

// The bytes that each PE lends: a word of each thread.
constexpr std::size_t kBytes = 1 << 20;

struct Trips {
  std::uint64_t* word;
  std::uint64_t count;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint64_t i = 0; i < count; ++i) {
      pe.put_value(word, i, 1);
      if (!pe.quiet()) return;  // the host finds the reason in the PE's reports
    }
  }
};

struct PutMany {
  std::uint64_t* words;
  std::uint64_t count;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    std::uint64_t* const mine = words + m.block_index() * m.block_threads() + m.thread_index();
    for (std::uint64_t i = 0; i < count; ++i) pe.put_value(mine, i, 1);
    pe.block().quiet();
  }
};

template <class Kernel>
Result<double> seconds_of(TwoPes& pes, const Kernel& kernel, LaunchShape shape) {
  const auto begin = Clock::now();
  if (auto ran = pes.launch(kernel, shape); !ran) return ran.error();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Microseconds of one.
Result<double> put_and_quiet(TwoPes& pes, const Size& size) {
  const auto took = seconds_of(pes, Trips{pes.words(), size.trips}, {1, 1});
  if (!took) return took;
  return *took * 1e6 / static_cast<double>(size.trips);
}

// Microseconds of one.
Result<double> message(TwoPes& pes, const Size& size) {
  auto* const words = reinterpret_cast<std::uint64_t*>(pes.target());
  const auto took = seconds_of(pes, PutMany{words, size.puts}, size.shape);
  if (!took) return took;
  return *took * 1e6 / static_cast<double>(size.all_puts());
}

using Measure = Result<double> (*)(TwoPes&, const Size&);

// Of all runs, by the own backend and by mlx5-emulated.
using Samples = std::array<std::vector<double>, 2>;

// The first run of each warms up.
Result<Samples> take_turns(const std::vector<TwoPes::Pair>& pairs, const Size& size,
                           Measure measure) {
  Samples samples;
  for (std::uint64_t run = 0; run <= size.runs; ++run) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Result<double> one = measure(*pairs[i], size);
      if (!one) return one.error();
      if (run != 0) samples[i].push_back(*one);
    }
  }
  return samples;
}

Result<void> add_rows(Table& table, const char* kind, const std::vector<TwoPes::Pair>& pairs,
                      const Size& size) {
  const auto add = [&](const char* name, Measure measure) -> Result<void> {
    const Result<Samples> samples = take_turns(pairs, size, measure);
    if (!samples) return samples.error().within(kind);
    for (const auto& [of, share] : {std::pair{"median", 0.5}, {"tenth", 0.1}}) {
      const double own = quantile((*samples)[0], share);
      const double emulated = quantile((*samples)[1], share);
      table.add_row({kind, name, of, own, emulated, own / emulated});
    }
    return {};
  };
  if (auto added = add("put and quiet", put_and_quiet); !added) return added;
  return add("put of many", message);
}

Result<void> run(Report& report, const Size& size) {
  const std::vector<int> cores = usable_cores();
  std::vector<PairSetting> settings = {{.backend = BackendChoice::softnic},
                                       {.backend = BackendChoice::mlx5_emulated}};
  if (cores.size() > 1) {
    for (PairSetting& setting : settings) setting.cores = {cores.begin() + 1, cores.end()};
  }
  Table& table = report.add_table("a soft ConnectX through libmlx5, against the own backend",
                                  {{"PEs are", ""},
                                   {"operation", ""},
                                   {"of the runs", ""},
                                   {"softnic", "us"},
                                   {"mlx5-emulated", "us"},
                                   {"its speed", "of softnic's"}});
  {
    // The children are made first, while this process has one thread.
    if (cores.size() > 1) use_cores({cores.front()});
    const auto processes = TwoPes::as_processes(kBytes, settings);
    if (!processes) return processes.error();
    if (auto added = add_rows(table, "processes", *processes, size); !added) return added;
  }
  use_cores(cores);
  std::vector<TwoPes::Pair> threads;
  for (const PairSetting& setting : settings) {
    auto pes = TwoPes::as_threads(kBytes, setting);
    if (!pes) return pes.error();
    threads.push_back(std::move(*pes));
  }
  return add_rows(table, "threads", threads, size);
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  Size size{100, 200, 20, {4, 64}};
  Program program("libmlx5_bench",
                  "How fast is a soft ConnectX that is driven through libibverbs and libmlx5? Run "
                  "it by `gdakit verbs --nics 2 -- libmlx5_bench`",
                  Needs::nothing);
  program.add_number("--runs", &size.runs, "Runs by turns");
  program.add_number("--trips", &size.trips, "Puts one at a time of one run");
  program.add_number("--puts", &size.puts, "Puts of each of 256 threads in one run");
  return program.main(argc, argv, [&](Report& report) {
    return run(report, program.quick() ? Size{1, 20, 10, {2, 32}} : size);
  });
}

// How long do collectives take, and how many bytes a second do they move?
//
// One table for each collective and job; with --perf-lines, as lines in the form of NVSHMEM's
// perftests. A row is a size: the bytes of the call's `count`, so what a PE gives to broadcast,
// fcollect, collect and reduce, gives to each member in alltoall(s), and gets of reduce_scatter.
// alltoalls leaves a gap behind each word, and sends it by itself. The columns:
//
//   thread, warp, block   latency of a call made by one of them on each PE
//   host                  latency of a call by the host that returns when it is done
//   stream                latency of a call that the host puts into a stream, behind the one before
//   algbw                 bytes / latency of the quickest of the five
//   busbw                 algbw * factor, as nccl-tests define both
//
//   n PEs    broadcast   fcollect, collect, alltoall(s), reduce_scatter   reduce
//   bytes    size        n * size                                         size
//   factor   1           (n - 1) / n                                      2 * (n - 1) / n
//
// A latency is the time of many calls, one behind the other, on the PE that needed longest, divided
// by their number; the median of the runs. The first run warms up and says how many calls the
// others make. A scope that is too slow for larger sizes is left out there. The data of every
// figure is looked at, and a wrong word ends the bench.
//
// The PEs are threads of this process. What is not said by an option is the environment's to say.
//
// This file is compiled twice: by the host's compiler for the emulator, and by nvcc for a GPU
// (bench/gpu/collectives_bench.cu). Emulated PEs share the cores, so what the emulator says of a
// GPU is how the algorithms compare in messages, not in time.
#include <algorithm>
#include <string_view>

#include "bench/collectives_pe.h"
#include "bench/program.h"
#include "core/base/option_table.h"

namespace gdakit::bench {
namespace {

// The tables of one job.
class Tables {
 public:
  Tables(Report& report, int n_pes, std::string how)
      : report_(report), n_pes_(n_pes), how_(std::move(how)) {}

  void add(Collective collective, std::uint64_t bytes, const Latencies& us) {
    const std::string name = kCollectiveNames[static_cast<std::size_t>(collective)];
    if (name != last_) {
      last_ = name;
      const std::string title = name + (collective == Collective::reduce ? " (sum), " : ", ") +
                                std::to_string(n_pes_) + " PEs, " + how_;
      table_ = &report_.add_table(title,
                                  {{"size", "B"},
                                   {"thread", "us"},
                                   {"warp", "us"},
                                   {"block", "us"},
                                   {"host", "us"},
                                   {"stream", "us"},
                                   {"algbw", "GB/s"},
                                   {"busbw", "GB/s"}},
                                  "collectives, " + title);
    }
    std::vector<Cell> cells(table_->columns.size());
    cells[0] = bytes;
    double best = 0;
    for (std::size_t scope = 0; scope < us.size(); ++scope) {
      if (us[scope] < 0) continue;
      cells[1 + scope] = us[scope];
      if (best == 0 || us[scope] < best) best = us[scope];
    }
    if (bytes > 0 && best > 0) {
      const Volume volume = volume_of(collective, n_pes_, bytes);
      const double algbw = volume.bytes / best / 1000;
      cells[cells.size() - 2] = algbw;
      cells.back() = algbw * volume.bus_factor;
    }
    if (best > 0) table_->add_row(std::move(cells));
  }

 private:
  Report& report_;
  int n_pes_;
  std::string how_;
  std::string last_;
  Table* table_ = nullptr;
};

// GDAKIT_TRANSPORT=direct takes the NIC where it must: a table of direct peers must not hide that.
Result<void> expect_direct(const Context& context) {
  for (int pe = 0; pe < context.n_pes(); ++pe) {
    if (context.transports().is_direct(pe)) continue;
    return Error(Code::unavailable, "PE " + std::to_string(pe) +
                                        " is no direct peer: " + context.transports().describe(pe));
  }
  return {};
}

Result<void> run_job(Report& report, const Settings& settings, int n_pes, const Options& options) {
  Options wanted = options;
  wanted.device = ThisCompiler::runs_on_gpu ? DeviceChoice::gpu : DeviceChoice::cpu;
  const auto n = static_cast<std::uint64_t>(n_pes);
  constexpr std::uint64_t kBuffers = 1 + 2 * kDestStride;  // as PeBench has them
  wanted.symmetric_size = kBuffers * n * settings.max_bytes + (std::uint64_t{1} << 20);
  wanted.heap_limit = std::max(wanted.heap_limit, 2 * wanted.symmetric_size);
  const std::string how = std::string(transport_choice_name(wanted.transport)) +
                          " transport, algorithm " + collective_choice_name(wanted.collectives);
  Tables tables(report, n_pes, how);
  std::vector<double> slowest(n);
  const Result<void> ran = run_in_process(n_pes, wanted, [&](Context& context) -> Result<void> {
    if (wanted.transport == TransportChoice::direct) {
      if (auto direct = expect_direct(context); !direct) return direct;
    }
    return PeBench(context, settings, slowest)
        .run([&tables](Collective collective, std::uint64_t bytes, const Latencies& us) {
          tables.add(collective, bytes, us);
        });
  });
  return ran ? ran : ran.error().within(std::to_string(n_pes) + " PEs, " + how);
}

// As the variable does it.
Result<void> set(Options& options, std::string_view variable, const std::string& text) {
  for (const OptionRow& row : option_table()) {
    if (row.name == variable && row.parse(options, text)) return {};
  }
  return Error(Code::invalid_argument, text + " is not allowed here");
}

Result<void> run(Report& report, const Settings& settings) {
  Result<Options> environment = Options::from_environment();
  if (!environment) return environment.error();
  Options options = *environment;
  const auto given = [](const std::vector<std::string>& names, const char* otherwise) {
    return names.empty() ? std::vector<std::string>{otherwise} : names;
  };
  const auto transports = given(settings.transports, transport_choice_name(options.transport));
  const auto algorithms = given(settings.algorithms, collective_choice_name(options.collectives));
  for (const std::uint64_t n_pes : settings.pes) {
    for (const std::string& transport : transports) {
      for (const std::string& algorithm : algorithms) {
        if (auto done = set(options, "GDAKIT_TRANSPORT", transport); !done) return done;
        if (auto done = set(options, "GDAKIT_COLLECTIVES", algorithm); !done) return done;
        auto ran = run_job(report, settings, static_cast<int>(n_pes), options);
        if (!ran) return ran;
      }
    }
  }
  report.add_note("A block has " + std::to_string(settings.threads) +
                  " threads, GDAKIT_TEAM_SCRATCH is " + std::to_string(options.team_scratch) +
                  " bytes. The algorithm concerns sync, barrier, broadcast, fcollect and reduce.");
  report.add_note(
      "algbw = bytes / latency of the quickest scope; busbw = algbw * factor: "
      "broadcast size, 1; reduce size, 2(n-1)/n; the others n * size, (n-1)/n.");
  return {};
}

Result<void> check(const Settings& settings) {
  const bool whole = settings.min_bytes % sizeof(Element) == 0 && settings.min_bytes > 0;
  if (!whole || settings.min_bytes > settings.max_bytes || settings.factor < 2) {
    return Error(
        Code::invalid_argument,
        "--min-bytes must be a multiple of 4 and at most --max-bytes, --factor at least 2");
  }
  const auto [least, most] = std::ranges::minmax_element(settings.pes);
  if (least == settings.pes.end() || *least < 2 || *most > 64 || settings.runs < 1 ||
      settings.threads < 1 || settings.threads > 1024) {
    return Error(Code::invalid_argument,
                 "--pes must be from 2 to 64, --threads from 1 to 1024, --runs at least 1");
  }
  return {};
}

Settings default_settings(bool on_gpu) {
  Settings settings{};
  settings.pes = {2, 4};
  if (on_gpu) settings.pes.push_back(8);
  settings.transports = {"nic", "direct"};
  settings.min_bytes = 4;
  settings.max_bytes = on_gpu ? 4 << 20 : 64 << 10;
  settings.factor = on_gpu ? 4 : 16;
  settings.threads = on_gpu ? 256 : 64;
  settings.rounds = 1000;
  settings.run_us = on_gpu ? 5'000 : 10'000;
  settings.call_us = on_gpu ? 5'000 : 20'000;
  settings.runs = 5;
  return settings;
}

void make_quick(Settings& settings) {
  settings.pes = {2};
  settings.min_bytes = 4;
  settings.max_bytes = 1024;
  settings.factor = 16;
  settings.rounds = 10;
  settings.runs = 1;
}

void add_options(Program& program, Settings& settings) {
  program.add_numbers("--pes", &settings.pes, "PEs of the jobs, one behind the other");
  program.add_choices("--transport", &settings.transports, {"auto", "nic", "direct"},
                      "Values of GDAKIT_TRANSPORT");
  program.add_choices("--algorithm", &settings.algorithms,
                      {"auto", "linear", "logarithmic", "ring"},
                      "Values of GDAKIT_COLLECTIVES; the environment's if none is given");
  program.add_choices("--collective", &settings.collectives,
                      {std::begin(kCollectiveNames), std::end(kCollectiveNames)}, "Only these");
  program.add_choices("--scope", &settings.scopes, {kScopeNames.begin(), kScopeNames.end()},
                      "Only these");
  program.add_number("--min-bytes", &settings.min_bytes, "The smallest size, a multiple of 4");
  program.add_number("--max-bytes", &settings.max_bytes, "The largest size");
  program.add_number("--factor", &settings.factor, "From one size to the next");
  program.add_number("--threads", &settings.threads,
                     "Threads of a block; registers allow a GPU 256");
  program.add_number("--rounds", &settings.rounds, "Calls of one run, at most");
  program.add_number("--run-us", &settings.run_us, "Time of one run that has fewer calls");
  program.add_number("--call-us", &settings.call_us,
                     "A scope whose call took longer gets no larger sizes");
  program.add_number("--runs", &settings.runs, "Runs, of which the median counts");
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit;
  using namespace gdakit::bench;
  constexpr bool on_gpu = ThisCompiler::runs_on_gpu;
  Settings settings = default_settings(on_gpu);
  Program program("collectives_bench",
                  "How long do collectives take, and how many bytes a second do they move?",
                  on_gpu ? Needs::gpu : Needs::nothing);
  add_options(program, settings);
  return program.main(argc, argv, [&](Report& report) -> Result<void> {
    if (program.quick()) make_quick(settings);
    if (auto right = check(settings); !right) return right;
    return run(report, settings);
  });
}

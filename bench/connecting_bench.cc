// What do queues to many peers cost a PE on the host, by what the queues are?
//
// All PEs are threads of one process, with a soft NIC each: of softnic's own backend, or, with
// `gdakit verbs -- connecting_bench --backends mlx5-emulated`, one that is driven by firmware
// commands through libibverbs and libmlx5. PE 0 has queues to all others, and they
// to it (GDAKIT_CONNECT=0): its part is that of a PE in a job of that size whose PEs are all
// connected.
//
//   connect   what PE 0's thread takes to make its queues and connect them: another row of them,
//             made by add_queues; elapsed, and of the CPU's time what the whole process takes,
//             whose other PEs have a queue each
//   init      all of init(), of all PEs together
//   post      the time of the process for a put to each peer by one thread of PE 0, and quiet
//   memory    of PE 0's queues
//
// With --all all PEs are connected with all, from the start, by --queues queues for each peer: the
// costs of such a job.
//
//   init      until the last PE has come to the end of init(); and of the CPU's time
//   resident  by how much more memory the process has in use at that time
//   end       from there until all PEs are gone
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "bench/program.h"
#include "gdakit.h"

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Elapsed, and of the process's threads together, in milliseconds.
struct Times {
  double elapsed = 0;
  double cpu = 0;
};

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Of the process, in bytes.
std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class Stopwatch {
 public:
  Times read() const {
    return {std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(),
            cpu_ms() - cpu_begin_};
  }

 private:
  Clock::time_point begin_ = Clock::now();
  double cpu_begin_ = cpu_ms();
};

struct Told {
  Times init, connect, post;
  std::uint64_t queue_bytes = 0;
  std::uint64_t queues = 0;
};

struct PutToEach {
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    for (int to = 0; to < pe.n_pes(); ++to) pe.put_value(words, std::uint64_t{1}, to);
    pe.quiet();
  }
};

// A kind of job: by its NICs and its queues.
struct Kind {
  std::string backend;
  std::string type;
};

std::vector<Kind> kinds_of(const std::vector<std::string>& backends,
                           const std::vector<std::string>& types) {
  std::vector<Kind> kinds;
  for (const std::string& backend : backends) {
    for (const std::string& type : types) kinds.push_back({backend, type});
  }
  return kinds;
}

Options job_options(std::uint64_t pes, const Kind& kind) {
  Options options;
  options.device = DeviceChoice::cpu;
  options.backend =
      kind.backend == "softnic" ? BackendChoice::softnic : BackendChoice::mlx5_emulated;
  options.transport = TransportChoice::nic;
  options.softnic_pes = static_cast<std::uint32_t>(pes);
  options.queue_type = kind.type == "dc" ? QueueType::dc : QueueType::rc;
  options.connect = "0";
  options.queues_per_peer = 1;
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  options.teams = 4;
  options.watchdog = std::chrono::minutes(10);
  options.timeout = std::chrono::minutes(10);
  return options;
}

Result<void> measure_pe(Context& context, const Stopwatch& since_begin, Told& told) {
  const bool tells = context.my_pe() == 0;
  if (auto met = context.barrier(); !met) return met;
  if (tells) told.init = since_begin.read();
  auto words = context.allocate<std::uint64_t>(1);
  if (!words) return words.error();
  const std::uint64_t bytes = context.queue_bytes();
  const std::size_t queues = context.backend().count().queues.size();
  const Stopwatch connecting;
  if (auto added = context.add_queues(1, Sharing::shared); !added) return added.error();
  if (tells) {
    told.connect = connecting.read();
    told.queue_bytes = context.queue_bytes() - bytes;
    told.queues = context.backend().count().queues.size() - queues;
  }
  if (auto met = context.barrier(); !met) return met;
  const Stopwatch posting;
  if (auto put = context.launch(PutToEach{*words}, {.blocks = 1, .threads = 1}); !put) return put;
  if (tells) told.post = posting.read();
  return context.barrier();
}

Result<void> measure_one_to_all(const std::vector<std::uint64_t>& sizes,
                                const std::vector<Kind>& kinds, Report& report) {
  Table& table =
      report.add_table("cost of queues to all peers for one PE, soft NICs", {{"PEs", ""},
                                                                             {"backend", ""},
                                                                             {"queues", ""},
                                                                             {"init", "ms"},
                                                                             {"init, CPU", "ms"},
                                                                             {"connect", "ms"},
                                                                             {"connect, CPU", "ms"},
                                                                             {"post, CPU", "ms"},
                                                                             {"made", ""},
                                                                             {"memory", "KiB"}});
  for (const std::uint64_t size : sizes) {
    for (const Kind& kind : kinds) {
      Told told;
      const Stopwatch begin;
      const Result<void> ran =
          run_in_process(static_cast<int>(size), job_options(size, kind),
                         [&](Context& context) { return measure_pe(context, begin, told); });
      if (!ran) return ran.error().within(std::to_string(size) + " PEs");
      table.add_row({size, kind.backend, kind.type, told.init.elapsed, told.init.cpu,
                     told.connect.elapsed, told.connect.cpu, told.post.cpu, told.queues,
                     told.queue_bytes >> 10});
    }
  }
  return {};
}

struct JobTold {
  Times init;
  std::uint64_t resident = 0;
  std::uint64_t queues_of_one = 0;
  std::uint64_t queue_bytes_of_one = 0;
  Stopwatch end;
};

Result<void> measure_job(std::uint64_t size, const Kind& kind, std::uint64_t queues, Table& table) {
  Options options = job_options(size, kind);
  options.connect = "all";
  options.queues_per_peer = static_cast<std::uint32_t>(queues);
  options.queue_depth = 64;
  options.fetch_slots = 32;
  JobTold told;
  const std::uint64_t resident = resident_bytes();
  const Stopwatch begin;
  const Result<void> ran =
      run_in_process(static_cast<int>(size), options, [&](Context& context) -> Result<void> {
        if (auto met = context.barrier(); !met || context.my_pe() != 0) return met;
        told.init = begin.read();
        told.resident = std::max(resident_bytes(), resident) - resident;
        told.queues_of_one = context.backend().count().queues.size();
        told.queue_bytes_of_one = context.queue_bytes();
        told.end = Stopwatch();
        return {};
      });
  if (!ran) return ran.error().within(std::to_string(size) + " PEs");
  table.add_row({size, kind.backend, kind.type, queues, told.init.elapsed, told.init.cpu,
                 told.queues_of_one, told.queue_bytes_of_one >> 10, told.resident >> 20,
                 told.end.read().elapsed});
  return {};
}

Result<void> measure_all_to_all(const std::vector<std::uint64_t>& sizes,
                                const std::vector<Kind>& kinds, std::uint64_t queues,
                                Report& report) {
  Table& table = report.add_table("jobs whose PEs are all connected, soft NICs, queues of 64 slots",
                                  {{"PEs", ""},
                                   {"backend", ""},
                                   {"queues", ""},
                                   {"for a peer", ""},
                                   {"init", "ms"},
                                   {"init, CPU", "ms"},
                                   {"made by PE 0", ""},
                                   {"their memory", "KiB"},
                                   {"resident", "MiB"},
                                   {"end", "ms"}});
  for (const std::uint64_t size : sizes) {
    for (const Kind& kind : kinds) {
      if (auto ran = measure_job(size, kind, queues, table); !ran) return ran;
    }
  }
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  std::vector<std::uint64_t> sizes = {16, 64, 256};
  Program program("connecting_bench", "What do queues to many peers cost a PE on the host?",
                  Needs::nothing);
  std::vector<std::string> backends = {"softnic"};
  std::vector<std::string> types = {"rc", "dc"};
  bool all = false;
  std::uint64_t queues = 1;
  program.add_numbers("--pes", &sizes, "How many PEs the jobs have");
  program.add_choices("--backends", &backends, {"softnic", "mlx5-emulated"},
                      "Whose soft NICs; mlx5-emulated runs below `gdakit verbs --`");
  program.add_choices("--types", &types, {"rc", "dc"}, "What the queues are");
  program.add_flag("--all", &all, "All PEs are connected with all, rather than PE 0 alone");
  program.add_number("--queues", &queues, "With --all: queues for each peer");
  return program.main(argc, argv, [&](Report& report) {
    if (program.quick()) sizes = {2, 8};
    const std::vector<Kind> kinds = kinds_of(backends, types);
    return all ? measure_all_to_all(sizes, kinds, queues, report)
               : measure_one_to_all(sizes, kinds, report);
  });
}

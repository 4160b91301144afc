// What does a job cost by the number of its PEs, on one host, with the soft NIC?
//
// PEs are processes, forked from this one. Times are PE 0's, of calls that all PEs make together:
//
//   join     to meet the others over TCP          init    all of init(), the joining included
//   barrier  one of the bootstrap                 growth  the heap, by one chunk
//   queue    one more queue to each peer          end     the context's destruction
//
// Memory is the job's, all PEs together, each page counted once: behind init, and when each PE has
// put to each often enough to have used all of the wires. Descriptors are PE 0's. All PEs share the
// host's cores, so times grow at least with the PEs; what is held against them is the ratio from
// row to row. A second table has init and memory of jobs whose PEs are threads of one process.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "bench/program.h"
#include "core/host/launch/launch_info.h"
#include "core/host/launch/tcp_listener.h"
#include "gdakit.h"

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kPuts = 512;  // the slots of the longest ring

enum Figure { kJoin, kBarrier, kInit, kGrowth, kQueue, kEnd, kFigures };

// What a PE tells the process that started it, in memory that they share.
struct Told {
  std::array<double, kFigures> ms;
  std::uint64_t bytes_at_first, bytes_after_puts;
  std::uint64_t descriptors;
  bool succeeded;
};

struct PutToAll {
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint32_t i = 0; i < kPuts; ++i) {
      for (int to = 0; to < pe.n_pes(); ++to) pe.put_value(words + pe.my_pe(), i, to);
    }
    pe.barrier_all();
  }
};

// This process's share of the memory that it and others map.
std::uint64_t proportional_bytes() {
  std::ifstream map("/proc/self/smaps_rollup");
  for (std::string word; map >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "Pss:" && map >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

std::uint64_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

// Calls `act` and notes what it took; its error ends the PE.
template <class Act>
Result<void> time(Told& told, Figure figure, Act act) {
  const Clock::time_point begin = Clock::now();
  const Result<void> done = act();
  told.ms[figure] = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return done;
}

Result<void> measure_bootstrap(const Options& options, Told& told) {
  std::unique_ptr<Bootstrap> bootstrap;
  Result<void> joined = time(told, kJoin, [&]() -> Result<void> {
    Result<std::unique_ptr<Bootstrap>> opened = open_bootstrap(options);
    if (!opened) return opened.error();
    bootstrap = std::move(*opened);
    return {};
  });
  if (!joined) return joined;
  return time(told, kBarrier, [&] { return bootstrap->barrier(); });
}

Result<void> measure_context(const Options& options, Told& told) {
  std::unique_ptr<Context> context;
  Result<void> made = time(told, kInit, [&]() -> Result<void> {
    Result<std::unique_ptr<Context>> opened = init<CompiledForCpu>(options);
    if (!opened) return opened.error();
    context = std::move(*opened);
    return {};
  });
  if (!made) return made;
  told.descriptors = open_descriptors();
  told.bytes_at_first = proportional_bytes();
  auto words = context->allocate<std::uint64_t>(static_cast<std::size_t>(context->n_pes()));
  if (!words) return words.error();
  const Result<void> put = context->launch(PutToAll{*words}, {.blocks = 1, .threads = 1});
  if (!put) return put;
  told.bytes_after_puts = proportional_bytes();
  Result<void> grown = time(told, kGrowth, [&]() -> Result<void> {
    auto more = context->allocate<char>(options.symmetric_size);
    return more ? Result<void>() : more.error();
  });
  if (!grown) return grown;
  Result<void> added = time(told, kQueue, [&]() -> Result<void> {
    auto queue = context->add_queues(1, Sharing::shared);
    return queue ? Result<void>() : queue.error();
  });
  if (!added) return added;
  return time(told, kEnd, [&]() -> Result<void> {
    context.reset();
    return {};
  });
}

void run_pe(const Options& options, Told& told) {
  Result<void> done = measure_bootstrap(options, told);
  if (done) done = measure_context(options, told);
  if (!done) std::fprintf(stderr, "scaling_bench: %s\n", done.error().message().c_str());
  told.succeeded = static_cast<bool>(done);
}

Result<Options> job_options(int n_pes, const UniqueFileDescriptor& listener) {
  const Result<ListenerAddress> address = listener_address(listener.get());
  if (!address) return address.error();
  const Result<JobSecret> secret = make_job_secret();
  if (!secret) return secret.error();
  Options options;
  options.device = DeviceChoice::cpu;
  options.size = static_cast<std::uint32_t>(n_pes);
  options.root = address->host + ":" + std::to_string(address->port);
  options.secret = job_secret_text(*secret);
  options.softnic_pes = std::max(options.softnic_pes, *options.size);
  options.watchdog = std::chrono::minutes(10);
  options.timeout = std::chrono::minutes(10);
  return options;
}

// What the PEs of a job of that size have told.
Result<void> run_job(int n_pes, Told* told) {
  Result<UniqueFileDescriptor> listener = open_listener("127.0.0.1", 0);
  if (!listener) return listener.error();
  Result<Options> options = job_options(n_pes, *listener);
  if (!options) return options.error();
  std::vector<pid_t> pes;
  for (int rank = 0; rank < n_pes; ++rank) {
    const pid_t pe = ::fork();
    if (pe < 0) return Error::from_errno("fork for PE " + std::to_string(rank), errno);
    if (pe == 0) {
      options->rank = static_cast<std::uint32_t>(rank);
      if (rank == 0) options->listen_fd = static_cast<std::uint32_t>(listener->get());
      run_pe(*options, told[rank]);
      ::_exit(0);
    }
    pes.push_back(pe);
  }
  for (const pid_t pe : pes) ::waitpid(pe, nullptr, 0);
  for (int rank = 0; rank < n_pes; ++rank) {
    if (!told[rank].succeeded) return Error(Code::system, "PE " + std::to_string(rank) + " failed");
  }
  return {};
}

Result<void> measure_threads(int n_pes, Told& told) {
  Options options;
  options.device = DeviceChoice::cpu;
  options.softnic_pes = std::max(options.softnic_pes, static_cast<std::uint32_t>(n_pes));
  options.watchdog = std::chrono::minutes(10);
  options.timeout = std::chrono::minutes(10);
  const Clock::time_point begin = Clock::now();
  return run_in_process(n_pes, options, [&](Context& context) -> Result<void> {
    const bool tells = context.my_pe() == 0;
    if (tells) {
      told.ms[kInit] = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      told.bytes_at_first = proportional_bytes();
    }
    auto words = context.allocate<std::uint64_t>(static_cast<std::size_t>(context.n_pes()));
    if (!words) return words.error();
    Result<void> done = context.launch(PutToAll{*words}, {.blocks = 1, .threads = 1});
    if (done && tells) told.bytes_after_puts = proportional_bytes();
    return done ? context.barrier() : done;
  });
}

// The job in a process of its own, whose memory is that job's alone.
Result<void> run_threads(int n_pes, Told* told) {
  const pid_t job = ::fork();
  if (job < 0) return Error::from_errno("fork for a job of " + std::to_string(n_pes), errno);
  if (job == 0) {
    const Result<void> done = measure_threads(n_pes, *told);
    if (!done) std::fprintf(stderr, "scaling_bench: %s\n", done.error().message().c_str());
    told->succeeded = static_cast<bool>(done);
    ::_exit(0);
  }
  ::waitpid(job, nullptr, 0);
  if (told->succeeded) return {};
  return Error(Code::system, "the job of " + std::to_string(n_pes) + " threads failed");
}

double megabytes(const Told* told, int n_pes, std::uint64_t Told::*bytes) {
  double sum = 0;
  for (int rank = 0; rank < n_pes; ++rank) sum += static_cast<double>(told[rank].*bytes);
  return sum / 1e6;
}

Result<void> measure(const std::vector<std::uint64_t>& sizes, Report& report) {
  Table& table = report.add_table("cost by PEs of one host, soft NIC",
                                  {{"PEs", ""},
                                   {"join", "ms"},
                                   {"barrier", "ms"},
                                   {"init", "ms"},
                                   {"growth", "ms"},
                                   {"queue", "ms"},
                                   {"end", "ms"},
                                   {"memory", "MB"},
                                   {"with used wires", "MB"},
                                   {"descriptors", ""}},
                                  "cost");
  Table& threads = report.add_table(
      "cost by PEs of one process, soft NIC",
      {{"PEs", ""}, {"init", "ms"}, {"memory", "MB"}, {"with used wires", "MB"}}, "threads");
  for (const std::uint64_t size : sizes) {
    const int n_pes = static_cast<int>(size);
    const std::size_t bytes = size * sizeof(Told);
    void* const shared =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return Error::from_errno("mmap", errno);
    auto* const told = static_cast<Told*>(shared);
    Result<void> ran = run_job(n_pes, told);
    if (ran) {
      const auto& ms = told->ms;
      table.add_row({size, ms[kJoin], ms[kBarrier], ms[kInit], ms[kGrowth], ms[kQueue], ms[kEnd],
                     megabytes(told, n_pes, &Told::bytes_at_first),
                     megabytes(told, n_pes, &Told::bytes_after_puts), told->descriptors});
    }
    *told = {};
    if (ran) ran = run_threads(n_pes, told);
    if (ran) {
      threads.add_row({size, told->ms[kInit], megabytes(told, 1, &Told::bytes_at_first),
                       megabytes(told, 1, &Told::bytes_after_puts)});
    }
    ::munmap(shared, bytes);
    if (!ran) return ran;
  }
  report.add_note(std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " cores");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  std::vector<std::uint64_t> sizes;
  Program program("scaling_bench", "What does a job cost by the number of its PEs?",
                  Needs::nothing);
  program.add_numbers("--pes", &sizes,
                      "Sizes of the jobs, from 2 on (8,16,32,64; with --quick 2,4)");
  return program.main(argc, argv, [&](Report& report) {
    if (sizes.empty()) {
      sizes = program.quick() ? std::vector<std::uint64_t>{2, 4}
                              : std::vector<std::uint64_t>{8, 16, 32, 64};
    }
    return measure(sizes, report);
  });
}

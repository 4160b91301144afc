// nvshmem_perf: what puts, gets, signals, atomics and barriers cost by NVSHMEM's interface.
//
//   gdakit run -n 2 nvshmem_perf [TEST] [--csv] [--quick]
//   nvshmem_perf --rank R --size N --id-file FILE ...    # each PE by hand, without a launcher
#include <chrono>
#include <cstring>
#include <thread>

#include "bench/nvshmem/perf.cuh"

namespace perf {
namespace {

constexpr int kNoGpu = 77;
constexpr int kUsage = 2;
constexpr const char* kHelp =
    "nvshmem_perf [TEST] [OPTIONS]: performance by NVSHMEM's interface; one PE for each GPU\n"
    "  TEST           one of the names below; all by default. Those called \"once\" get each time\n"
    "                 from other addresses, so that no cache close to the PE holds them\n"
    "  --csv          lines of test,bytes,scope,value,unit in place of a table\n"
    "  --quick        few sizes and repetitions, to see that all works\n"
    "  --min BYTES    smallest and largest message of bandwidth tests (1024, 67108864)\n"
    "  --max BYTES\n"
    "  --blocks N     blocks and threads of a block in bandwidth and rate tests (64, 512)\n"
    "  --threads N\n"
    "  --rank R       this PE of --size; PE 0 writes a unique id into --id-file, which must not\n"
    "  --size N       be there before, and the others read it. Otherwise nvshmem_init finds the\n"
    "  --id-file F    job\n";

struct Test {
  const char* name;
  void (*run)(Perf&);
  bool needs_two;  // PEs, and no more
};
constexpr Test kTests[] = {
    {"put_bw", put_bandwidth, true},           {"get_bw", get_bandwidth, true},
    {"get_bw_once", get_bandwidth_once, true}, {"put_latency", put_latency, true},
    {"get_latency", get_latency, true},        {"get_latency_once", get_latency_once, true},
    {"put_signal", signal_ping_pong, true},    {"atomic_latency", atomic_latency, true},
    {"atomic_rate", atomic_rate, true},        {"barrier", barrier_latency, false},
};

[[noreturn]] void usage(const char* wrong) {
  std::fprintf(stderr, "nvshmem_perf: what is %s?\n%s", wrong, kHelp);
  std::exit(kUsage);
}

void print_help() {
  std::printf("%stests:\n", kHelp);
  for (const Test& test : kTests) std::printf("  %s\n", test.name);
}

bool is_test(const std::string& name) {
  for (const Test& test : kTests) {
    if (name == test.name) return true;
  }
  return false;
}

// An option that has a value; false if `name` is none.
bool set_value(Options& options, const std::string& name, const char* value) {
  const auto number = [&] { return std::strtoll(value, nullptr, 10); };
  if (name == "--rank") {
    options.rank = static_cast<int>(number());
  } else if (name == "--size") {
    options.size = static_cast<int>(number());
  } else if (name == "--id-file") {
    options.id_file = value;
  } else if (name == "--min") {
    options.min_bytes = static_cast<std::size_t>(number());
  } else if (name == "--max") {
    options.max_bytes = static_cast<std::size_t>(number());
  } else if (name == "--blocks") {
    options.blocks = static_cast<int>(number());
  } else if (name == "--threads") {
    options.threads = static_cast<int>(number());
  } else {
    return false;
  }
  return true;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      print_help();
      std::exit(0);
    } else if (argument == "--csv") {
      options.csv = true;
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (is_test(argument)) {
      options.test = argument;
    } else if (i + 1 == argc || !set_value(options, argument, argv[++i])) {
      usage(argument.c_str());
    }
  }
  if (options.min_bytes == 0 || options.min_bytes % 8 != 0) usage("--min, which is 8, 16, ...");
  if (options.max_bytes < options.min_bytes) usage("--max, less than --min");
  if (options.blocks < 1) usage("--blocks");
  if (options.threads < 1 || options.threads > kMaxThreads) usage("--threads");
  if (options.rank >= 0 && (options.size <= options.rank || options.id_file.empty())) {
    usage("--rank without --size and --id-file");
  }
  return options;
}

// Whole or not at all, for those who look.
bool write_id(const std::string& path, const nvshmemx_uniqueid_t& id) {
  const std::string part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(&id, sizeof(id), 1, file) == 1;
  return std::fclose(file) == 0 && written && std::rename(part.c_str(), path.c_str()) == 0;
}

bool read_id(const std::string& path, nvshmemx_uniqueid_t* id) {
  constexpr int kTries = 6000;  // a minute
  for (int i = 0; i < kTries; ++i) {
    if (std::FILE* const file = std::fopen(path.c_str(), "rb"); file != nullptr) {
      const bool read = std::fread(id, sizeof(*id), 1, file) == 1;
      std::fclose(file);
      return read;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void init_by_id(const Options& options, int gpus) {
  check(cudaSetDevice(options.rank % gpus), "cudaSetDevice");
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  bool shared = false;
  if (options.rank == 0) {
    shared = nvshmemx_get_uniqueid(&id) == 0 && write_id(options.id_file, id);
  } else {
    shared = read_id(options.id_file, &id);
  }
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (!shared ||
      nvshmemx_set_attr_uniqueid_args(options.rank, options.size, &id, &attributes) != 0 ||
      nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
    std::fprintf(stderr, "nvshmem_perf: PE %d could not join by %s\n", options.rank,
                 options.id_file.c_str());
    std::exit(1);
  }
}

void open(Perf& perf) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "no GPU: nvshmem_perf has nothing to measure\n");
    std::exit(kNoGpu);
  }
  if (perf.options.rank >= 0) {
    init_by_id(perf.options, gpus);
  } else {
    nvshmem_init();
    check(cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % gpus), "cudaSetDevice");
  }
  perf.me = nvshmem_my_pe();
  perf.n_pes = nvshmem_n_pes();
  check(cudaStreamCreate(&perf.stream), "cudaStreamCreate");
  check(cudaMalloc(&perf.words, kWords * sizeof(*perf.words)), "cudaMalloc");
}

void print_head(const Perf& perf) {
  if (!perf.acts()) return;
  if (perf.options.csv) {
    std::printf("test,bytes,scope,value,unit\n");
    return;
  }
  char library[NVSHMEM_MAX_NAME_LEN] = {};
  nvshmem_info_get_name(library);
  std::printf("%s, %d PEs\n%-18s %10s %-14s %12s\n", library, perf.n_pes, "test", "bytes", "scope",
              "value");
}

__host__ __device__ std::uint64_t pattern(std::uint64_t seed, std::size_t i) {
  return (seed + i + 1) * 0x9e3779b97f4a7c15u;
}

__global__ void fill_words(std::uint64_t* words, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    words[i] = pattern(seed, i);
  }
}

__global__ void count_wrong(const std::uint64_t* words, std::size_t count, std::uint64_t seed,
                            std::size_t first, std::uint64_t* wrong) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    mine += words[i] != pattern(seed, first + i) ? 1 : 0;
  }
  if (mine != 0) atomicAdd(reinterpret_cast<unsigned long long*>(wrong), mine);
}

}  // namespace

void report(const Perf& perf, const char* test, std::size_t bytes, const char* scope, double value,
            const char* unit) {
  if (!perf.acts()) return;
  const char* const format =
      perf.options.csv ? "%s,%zu,%s,%.6g,%s\n" : "%-18s %10zu %-14s %12.4g %s\n";
  std::printf(format, test, bytes, scope, value, unit);
  std::fflush(stdout);
}

void expect(Perf& perf, bool holds, const char* test, std::size_t bytes) {
  if (holds) return;
  ++perf.failures;
  std::fprintf(stderr, "PE %d: %s of %zu bytes left wrong data\n", perf.me, test, bytes);
}

void fill(const Perf& perf, const Symmetric& memory, std::size_t bytes, std::uint64_t seed) {
  fill_words<<<128, 256, 0, perf.stream>>>(memory.words(), bytes / 8, seed);
  finish(perf, "filling memory");
}

bool has_pattern(const Perf& perf, const Symmetric& memory, std::size_t bytes, std::uint64_t seed,
                 std::size_t from) {
  check(cudaMemsetAsync(perf.words, 0, sizeof(*perf.words), perf.stream), "cudaMemset");
  count_wrong<<<128, 256, 0, perf.stream>>>(memory.words(), bytes / 8, seed, from / 8, perf.words);
  return reported(perf, "comparing memory") == 0;
}

std::uint64_t reported(const Perf& perf, const char* what) {
  finish(perf, what);
  std::uint64_t word = 0;
  check(cudaMemcpyAsync(&word, perf.words, sizeof(word), cudaMemcpyDeviceToHost, perf.stream),
        "cudaMemcpy");
  finish(perf, what);
  return word;
}

}  // namespace perf

int main(int argc, char** argv) {
  perf::Perf perf;
  perf.options = perf::parse(argc, argv);
  perf::open(perf);
  perf::print_head(perf);
  for (const perf::Test& test : perf::kTests) {
    if (!perf.options.test.empty() && perf.options.test != test.name) continue;
    if (test.needs_two && perf.n_pes != 2) {
      if (perf.acts()) std::fprintf(stderr, "%s is for 2 PEs: left out\n", test.name);
      continue;
    }
    test.run(perf);
    nvshmem_barrier_all();
  }
  nvshmem_finalize();
  return perf.failures == 0 ? 0 : 1;
}

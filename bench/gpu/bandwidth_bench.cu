// How many bytes a second do puts move, by the size of the message?
//
// Two PEs in one process: on one GPU, and on two where there are two. Messages of one size are kept
// in flight; the lanes of eight warps post them. Held against cudaMemcpyAsync of the same size and
// direction, many in a row, in the same run. The layout is that of the usual NVSHMEM perftests; GB
// are 10^9 bytes. "latency" is that of a single put and quiet.
#include <algorithm>
#include <array>
#include <vector>

#include "bench/gpu/pe_gpu.cuh"
#include "bench/program.h"
#include "bench/statistics.h"
#include "device/cuda_machine.cuh"

namespace gdakit::bench {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kBlocks = 8;
constexpr std::uint32_t kThreads = 32;
constexpr std::uint32_t kSingles = 21;  // puts of which the median is the latency

// `count` messages, spread over the buffers; posted by all threads, then waited for.
__global__ void put_messages(const __grid_constant__ DeviceContext context, char* target,
                             const char* source, std::uint64_t bytes, std::uint64_t slots,
                             std::uint32_t count) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  const int peer = 1 - pe.my_pe();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    const std::uint64_t at = i % slots * bytes;
    pe.put_nbi(target + at, source + at, bytes, peer);
  }
  pe.block().quiet();
}

// kSingles messages one after the other; cycles of each, then those and the nanoseconds of all.
__global__ void put_singly(const __grid_constant__ DeviceContext context, char* target,
                           const char* source, std::uint64_t bytes, Word* times) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  const Word begin_ns = m.clock_ns();
  const long long begin = clock64();
  for (std::uint32_t i = 0; i < kSingles; ++i) {
    const long long before = clock64();
    pe.put_nbi(target, source, bytes, 1 - pe.my_pe());
    pe.quiet();
    times[i] = static_cast<Word>(clock64() - before);
  }
  times[kSingles] = static_cast<Word>(clock64() - begin);
  times[kSingles + 1] = m.clock_ns() - begin_ns;
}

struct Setting {
  bool two_gpus;
  bool both_ways;
  std::uint64_t max_bytes;
  std::uint64_t total_bytes;  // that the messages of one size come to
};

// How many messages of a size make one measurement.
std::uint32_t count_of(const Setting& setting, std::uint64_t bytes, std::uint32_t most) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(setting.total_bytes / bytes, 32, most));
}

// What the PEs, threads of one process, tell each other. They meet between writing and reading.
struct Shared {
  std::array<char*, 2> copy_target{};
  std::array<int, 2> ordinal{};
  std::array<double, 2> seconds{};
};

class PeBandwidth {
 public:
  PeBandwidth(Context& context, const Setting& setting, Shared& shared, Table& table)
      : gpu_(context), setting_(setting), shared_(shared), table_(table) {}

  Result<void> run() {
    if (auto ready = prepare(); !ready) return ready;
    for (std::uint64_t bytes = 8; bytes <= setting_.max_bytes; bytes *= 2) {
      Result<double> latency = latency_us(bytes);
      if (!latency) return latency.error();
      Result<double> put =
          gb_per_second(bytes, count_of(setting_, bytes, 65536), &PeBandwidth::put);
      if (!put) return put.error();
      if (auto right = verify(bytes); !right) return right;
      Result<double> copy =
          gb_per_second(bytes, count_of(setting_, bytes, 1000), &PeBandwidth::copy);
      if (!copy) return copy.error();
      if (pe() != 0) continue;
      table_.add_row({bytes, "thread", *put, *latency, *copy, *put / *copy});
    }
    return context().barrier();  // no PE's buffers go while the other still copies
  }

 private:
  using Act = Result<void> (PeBandwidth::*)(std::uint64_t bytes, std::uint32_t count);

  Context& context() { return gpu_.context(); }
  std::size_t pe() { return static_cast<std::size_t>(context().my_pe()); }
  std::size_t peer() { return 1 - pe(); }
  bool sends() { return pe() == 0 || setting_.both_ways; }

  Result<void> prepare() {
    if (auto ready = gpu_.open(); !ready) return ready;
    if (auto made = begin_.create(); !made) return made;
    if (auto made = end_.create(); !made) return made;
    Result<char*> target = context().allocate<char>(setting_.max_bytes);
    if (!target) return target.error();
    Result<char*> source = context().allocate<char>(setting_.max_bytes);
    if (!source) return source.error();
    Result<Word*> times = context().allocate<Word>(kSingles + 2);
    if (!times) return times.error();
    target_ = *target;
    source_ = *source;
    times_ = *times;
    words_.resize(setting_.max_bytes / sizeof(Word));
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = i * 2 + 1;
    if (auto done =
            context().upload(reinterpret_cast<Word*>(source_), words_.data(), words_.size());
        !done) {
      return done;
    }
    return prepare_copies();
  }

  Result<void> prepare_copies() {
    if (auto done = copy_target_.allocate(setting_.max_bytes); !done) return done;
    if (auto done = copy_source_.allocate(setting_.max_bytes); !done) return done;
    shared_.copy_target[pe()] = copy_target_.get();
    shared_.ordinal[pe()] = context().gpu()->ordinal();
    if (auto met = context().barrier(); !met) return met;
    if (shared_.ordinal[0] == shared_.ordinal[1]) return {};
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(shared_.ordinal[peer()], 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled) return cudaGetLastError(), Result<void>();
    return check(enabled, "cudaDeviceEnablePeerAccess");
  }

  Result<void> put(std::uint64_t bytes, std::uint32_t count) {
    put_messages<<<kBlocks, kThreads, 0, gpu_.stream()>>>(
        context().device_context(), target_, source_, bytes, setting_.max_bytes / bytes, count);
    return check(cudaGetLastError(), "puts");
  }

  Result<void> copy(std::uint64_t bytes, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t at = i % (setting_.max_bytes / bytes) * bytes;
      auto issued = check(
          cudaMemcpyPeerAsync(shared_.copy_target[peer()] + at, shared_.ordinal[peer()],
                              copy_source_.get() + at, shared_.ordinal[pe()], bytes, gpu_.stream()),
          "cudaMemcpyPeerAsync");
      if (!issued) return issued;
    }
    return {};
  }

  // Of all PEs that send together, by the slowest one's time. The first of two runs warms up.
  Result<double> gb_per_second(std::uint64_t bytes, std::uint32_t count, Act act) {
    for (const std::uint32_t messages : {std::min(count, 256u), count}) {
      if (auto met = context().barrier(); !met) return met.error();
      if (!sends()) continue;
      if (auto done = time(bytes, messages, act); !done) return done.error();
    }
    if (auto met = context().barrier(); !met) return met.error();
    double seconds = shared_.seconds[0];
    if (setting_.both_ways) seconds = std::max(seconds, shared_.seconds[1]);
    const double ways = setting_.both_ways ? 2 : 1;
    const double all = static_cast<double>(bytes) * count * ways;
    if (auto met = context().barrier(); !met) return met.error();
    return all / seconds / 1e9;
  }

  Result<void> time(std::uint64_t bytes, std::uint32_t messages, Act act) {
    if (auto done = check(cudaEventRecord(begin_.get(), gpu_.stream()), "event"); !done)
      return done;
    if (auto done = (this->*act)(bytes, messages); !done) return done;
    if (auto done = check(cudaEventRecord(end_.get(), gpu_.stream()), "event"); !done) return done;
    if (auto ran = gpu_.finish("bandwidth at " + std::to_string(bytes) + " bytes"); !ran)
      return ran;
    float ms = 0;
    auto took = check(cudaEventElapsedTime(&ms, begin_.get(), end_.get()), "cudaEventElapsedTime");
    shared_.seconds[pe()] = static_cast<double>(ms) / 1000;
    return took;
  }

  Result<double> latency_us(std::uint64_t bytes) {
    if (pe() != 0) return 0.0;
    put_singly<<<1, 1, 0, gpu_.stream()>>>(context().device_context(), target_, source_, bytes,
                                           times_);
    if (auto ran = gpu_.finish("single puts"); !ran) return ran.error();
    std::vector<Word> times(kSingles + 2);
    if (auto got = context().download(times.data(), times_, times.size()); !got) return got.error();
    const Clocks run{times[kSingles], times[kSingles + 1]};
    times.resize(kSingles);
    return run.ns_of(median(times)) / 1000;
  }

  // The receiver compares all that was put with what it must be, and clears it for the next size.
  Result<void> verify(std::uint64_t bytes) {
    const bool received = pe() == 1 || setting_.both_ways;
    if (!received) return context().barrier();
    const std::uint64_t messages =
        std::min<std::uint64_t>(count_of(setting_, bytes, 65536), setting_.max_bytes / bytes);
    std::vector<Word> got(messages * bytes / sizeof(Word));
    auto* const words = reinterpret_cast<Word*>(target_);
    if (auto done = context().download(got.data(), words, got.size()); !done) return done;
    if (!std::equal(got.begin(), got.end(), words_.begin())) {
      return Error(Code::internal, "puts of " + std::to_string(bytes) + " bytes arrived changed");
    }
    auto cleared = gpu_.clear(target_, setting_.max_bytes);
    return cleared ? context().barrier() : cleared;
  }

  PeGpu gpu_;
  Setting setting_;
  Shared& shared_;
  Table& table_;
  CudaEvent begin_;
  CudaEvent end_;
  char* target_ = nullptr;
  char* source_ = nullptr;
  Word* times_ = nullptr;
  std::vector<Word> words_;  // what the sources hold
  DeviceMemory<char> copy_target_;
  DeviceMemory<char> copy_source_;
};

Result<void> measure(const Options& base, const Setting& setting, Report& report) {
  Options options = base;
  options.device = DeviceChoice::gpu;
  options.symmetric_size = 2 * setting.max_bytes + (std::uint64_t{16} << 20);
  if (options.gpus.size() < 2) options.gpus = {0, 1};
  if (!setting.two_gpus) options.gpus.resize(1);
  const std::string gpus = setting.two_gpus ? "two GPUs" : "one GPU";
  const std::string ways = setting.both_ways ? "both ways" : "one way";
  Table& table = report.add_table("gdakit_put_bw: " + gpus + ", " + ways,
                                  {{"size", "B"},
                                   {"scope", ""},
                                   {"BW", "GB/sec"},
                                   {"latency", "us"},
                                   {"cudaMemcpy BW", "GB/sec"},
                                   {"ratio", ""}},
                                  "bandwidth, " + gpus + ", " + ways);
  Shared shared;
  return run_in_process(2, options, [&](Context& context) {
    return PeBandwidth(context, setting, shared, table).run();
  });
}

Result<void> run(Report& report, std::uint64_t max_bytes, std::uint64_t total_bytes) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  const bool have_two = report_gpus().gpus.size() > 1;
  for (const bool two_gpus : {false, true}) {
    if (two_gpus && !have_two) continue;
    for (const bool both_ways : {false, true}) {
      auto done = measure(*options, {two_gpus, both_ways, max_bytes, total_bytes}, report);
      if (!done) return done;
    }
  }
  if (!have_two) report.add_note("Two GPUs: not measured, this machine has one.");
  report.add_note("Goal: at 64 MiB 0.85 of cudaMemcpy.");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  std::uint64_t max_mib = 64;
  std::uint64_t total_mib = 4096;
  Program program("bandwidth_bench", "How many bytes a second do puts move?");
  program.add_number("--max-mib", &max_mib, "The largest message, in MiB, a power of two");
  program.add_number("--total-mib", &total_mib, "What the messages of one size come to, in MiB");
  return program.main(argc, argv, [&](Report& report) {
    if (program.quick()) return run(report, std::uint64_t{1} << 20, std::uint64_t{16} << 20);
    return run(report, max_mib << 20, total_mib << 20);
  });
}

#include <chrono>
#include <cuda/atomic>
#include <functional>
#include <vector>

#include "bench/gpu/cuda_parts.cuh"
#include "bench/gpu/primitives.h"
#include "bench/statistics.h"

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::uint64_t;

constexpr std::uint32_t kWqeWords = 8;
constexpr long long kPatienceCycles = 1LL << 34;  // some seconds: no kernel waits for ever
constexpr std::chrono::seconds kPatience{5};

__host__ __device__ Word load_word(Word* word) {
  return cuda::atomic_ref<Word, cuda::thread_scope_system>(*word).load(cuda::memory_order_acquire);
}
__host__ __device__ void store_word(Word* word, Word value) {
  cuda::atomic_ref<Word, cuda::thread_scope_system>(*word).store(value, cuda::memory_order_release);
}

// Answers the i-th change of `in` by a line of i and then i in `out`.
__global__ void echo(Word* in, Word* line, Word* out, std::uint32_t rounds) {
  for (Word i = 1; i <= rounds; ++i) {
    const long long begin = clock64();
    while (load_word(in) < i) {
      if (clock64() - begin > kPatienceCycles) return;
    }
    for (std::uint32_t j = 0; j < kWqeWords; ++j) line[j] = i;
    store_word(out, i);
  }
}

// One helper kernel of a NIC: up to 64 bytes, then a word that says so.
__global__ void helper(Word* to, const Word* from, std::uint32_t words, Word* flag, Word value) {
  if (threadIdx.x < words) to[threadIdx.x] = from[threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) store_word(flag, value);
}

// The memory and streams of one run.
struct Rig {
  std::uint32_t rounds;
  CudaStream copies;
  CudaStream kernels;
  DeviceWords device;  // [0..7] WQE, [8..15] payload, [16..23] CQE
  PinnedWords pinned;  // [0] to the GPU, [8] from it, [16..23] its line, [24..] the host's own
  WriteValue write_value;

  Word* wqe() { return device.get(); }
  Word* payload() { return device.get() + 8; }
  Word* cqe() { return device.get() + 16; }
  Word* ping() { return pinned.get(); }
  Word* pong() { return pinned.get() + 8; }
  Word* line() { return pinned.get() + 16; }
  Word* landed() { return pinned.get() + 24; }
  Word* source() { return pinned.get() + 32; }
  Word* flag() { return pinned.get() + 40; }

  Result<void> start_echo(Word* in) {
    store_word(ping(), 0);
    store_word(pong(), 0);
    auto cleared = check(cudaMemsetAsync(device.get(), 0, 256, kernels.get()), "cudaMemsetAsync");
    if (!cleared) return cleared;
    if (auto waited = kernels.wait(); !waited) return waited;
    echo<<<1, 1, 0, kernels.get()>>>(in, line(), pong(), rounds);
    return check(cudaGetLastError(), "the echo kernel");
  }
};

// The host polls `word` for `value`.
bool wait_for(Word* word, Word value) {
  const Clock::time_point begin = Clock::now();
  while (load_word(word) != value) {
    if (Clock::now() - begin > kPatience) return false;
  }
  return true;
}

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// The median time of act(i), i = 1 .. rounds, until `word` is i.
Result<double> median_us(Rig& rig, Word* word, const std::function<Result<void>(Word)>& act) {
  std::vector<double> samples;
  store_word(word, 0);
  for (Word i = 1; i <= rig.rounds; ++i) {
    const Clock::time_point begin = Clock::now();
    if (Result<void> acted = act(i); !acted) return acted.error();
    if (!wait_for(word, i)) {
      return Error(Code::timed_out, "a primitive of the GPU did not answer within 5 s");
    }
    samples.push_back(us_since(begin));
  }
  const cudaError_t ended = cudaDeviceSynchronize();
  if (ended != cudaSuccess) return check(ended, "the primitives' kernels").error();
  return median(samples);
}

Result<double> round_trip_us(Rig& rig) {
  if (auto started = rig.start_echo(rig.ping()); !started) return started.error();
  return median_us(rig, rig.pong(), [&](Word i) -> Result<void> {
    store_word(rig.ping(), i);
    return {};
  });
}

// The time of the host's first look at a line that the GPU wrote before its answer.
Result<double> line_us(Rig& rig) {
  if (auto started = rig.start_echo(rig.ping()); !started) return started.error();
  std::vector<double> samples;
  Word sum = 0;
  for (Word i = 1; i <= rig.rounds; ++i) {
    store_word(rig.ping(), i);
    if (!wait_for(rig.pong(), i)) return Error(Code::timed_out, "the echo kernel did not answer");
    const Clock::time_point begin = Clock::now();
    for (std::uint32_t j = 0; j < kWqeWords; ++j) sum += load_word(rig.line() + j);
    samples.push_back(us_since(begin));
  }
  if (auto ended = check(cudaDeviceSynchronize(), "the echo kernel"); !ended) return ended.error();
  const Word expected = Word{kWqeWords} * rig.rounds * (rig.rounds + 1) / 2;
  if (sum != expected) return Error(Code::internal, "the host read an old line of the GPU's");
  return median(samples);
}

Result<void> copy_words(Rig& rig, Word* to, const Word* from, std::uint32_t words) {
  return check(cudaMemcpyAsync(to, from, words * sizeof(Word), cudaMemcpyDefault, rig.copies.get()),
               "cudaMemcpyAsync");
}

Result<Primitives::Method> copy_engine(Rig& rig, double one_way_us) {
  const auto then_flag = [&](Result<void> copied, Word i) {
    if (!copied) return copied;
    return rig.write_value(rig.copies.get(), rig.flag(), i);
  };
  Result<double> fetch = median_us(rig, rig.flag(), [&](Word i) {
    return then_flag(copy_words(rig, rig.landed(), rig.wqe(), kWqeWords), i);
  });
  if (!fetch) return fetch.error();
  Result<double> deliver = median_us(rig, rig.flag(), [&](Word i) {
    return then_flag(copy_words(rig, rig.payload(), rig.source(), 1), i);
  });
  if (!deliver) return deliver.error();
  if (auto started = rig.start_echo(rig.cqe()); !started) return started.error();
  Result<double> write = median_us(rig, rig.pong(), [&](Word i) {
    rig.source()[0] = i;
    if (auto payload = copy_words(rig, rig.payload(), rig.source(), 1); !payload) return payload;
    return copy_words(rig, rig.cqe(), rig.source(), kWqeWords);
  });
  if (!write) return write.error();
  return Primitives::Method{*fetch, *write - one_way_us, *deliver};
}

Result<Primitives::Method> helper_kernels(Rig& rig, double one_way_us) {
  const auto launch = [&](Word* to, const Word* from, std::uint32_t words, Word* flag, Word i) {
    helper<<<1, 32, 0, rig.copies.get()>>>(to, from, words, flag, i);
    return check(cudaGetLastError(), "a helper kernel");
  };
  Result<double> fetch = median_us(rig, rig.flag(), [&](Word i) {
    return launch(rig.landed(), rig.wqe(), kWqeWords, rig.flag(), i);
  });
  if (!fetch) return fetch.error();
  Result<double> deliver = median_us(
      rig, rig.flag(), [&](Word i) { return launch(rig.payload(), rig.wqe(), 1, rig.flag(), i); });
  if (!deliver) return deliver.error();
  if (auto started = rig.start_echo(rig.cqe()); !started) return started.error();
  Result<double> write = median_us(
      rig, rig.pong(), [&](Word i) { return launch(rig.payload(), rig.wqe(), 1, rig.cqe(), i); });
  if (!write) return write.error();
  return Primitives::Method{*fetch, *write - one_way_us, *deliver};
}

Result<void> make_rig(Rig& rig) {
  if (auto made = rig.copies.create(); !made) return made;
  if (auto made = rig.kernels.create(); !made) return made;
  if (auto made = rig.device.allocate(32); !made) return made;
  if (auto made = rig.pinned.allocate(64); !made) return made;
  if (auto found = rig.write_value.find(); !found) return found;
  // Both kernels are loaded before one of them runs: a load waits for running kernels.
  cudaFuncAttributes attributes{};
  if (auto got = check(cudaFuncGetAttributes(&attributes, echo), "the echo kernel"); !got) {
    return got;
  }
  return check(cudaFuncGetAttributes(&attributes, helper), "a helper kernel");
}

}  // namespace

std::optional<double> Primitives::sum_us(DmaChoice dma, QueuePlace queues, bool from_memory) const {
  if (dma != DmaChoice::copy_engine && dma != DmaChoice::kernels) return std::nullopt;
  const Method& method = dma == DmaChoice::copy_engine ? copy_engine : kernels;
  // A copy engine cannot copy within one GPU: the bytes come to the host first.
  const double gather = from_memory && dma == DmaChoice::copy_engine ? method.fetch_us : 0;
  if (queues == QueuePlace::device) {
    return doorbell_us + method.fetch_us + gather + method.write_us;
  }
  return doorbell_us + line_us + gather + method.deliver_us + doorbell_us;
}

Result<Primitives> measure_primitives(int gpu, std::uint32_t rounds) {
  if (auto current = check(cudaSetDevice(gpu), "cudaSetDevice"); !current) return current.error();
  Rig rig{};
  rig.rounds = rounds;
  if (auto made = make_rig(rig); !made) return made.error();
  Primitives found{};
  Result<double> round_trip = round_trip_us(rig);
  if (!round_trip) return round_trip.error();
  found.doorbell_us = *round_trip / 2;
  Result<double> line = bench::line_us(rig);
  if (!line) return line.error();
  found.line_us = *line;
  Result<Primitives::Method> by_copy_engine = copy_engine(rig, found.doorbell_us);
  if (!by_copy_engine) return by_copy_engine.error();
  found.copy_engine = *by_copy_engine;
  Result<Primitives::Method> by_kernels = helper_kernels(rig, found.doorbell_us);
  if (!by_kernels) return by_kernels.error();
  found.kernels = *by_kernels;
  return found;
}

}  // namespace gdakit::bench

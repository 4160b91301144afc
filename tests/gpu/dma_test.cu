// The soft NIC's DMA port on a GPU: each method moves the right bytes, in order under the eyes of
// GPU threads, and beside a kernel that leaves no room.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <cuda/atomic>
#include <cuda_runtime_api.h>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/gpu/gpu_port.h"
#include "tests/gpu/dma_port.cuh"
#include "tests/support/settings.h"

namespace gdakit::softnic {
namespace {

using test::check;
using test::GpuDma;
using test::make_stream;
using test::OwnedStream;
using test::Words;

constexpr std::uint64_t kLimitCycles = std::uint64_t{20}
                                       << 30;  // a kernel ends by itself after this

INSTANTIATE_TEST_SUITE_P(Gpu, GpuDma, test::every_dma_method(), test::name_of_dma_method);

TEST_P(GpuDma, MovesAnySizeFromAndToAnyPlace) {
  Words from(8), to(4096);
  std::vector<std::uint8_t> source(from.bytes());
  std::iota(source.begin(), source.end(), std::uint8_t{1});
  from.fill(source);
  std::vector<std::uint8_t> expected(to.bytes(), 0);
  std::array<std::array<std::uint8_t, 64>, 180> read{};
  std::size_t row = 0;
  for (std::size_t size = 0; size < 40; size += size < 18 ? 1 : 5) {
    for (std::size_t shift = 0; shift < 9; shift += 2, ++row) {
      const std::size_t place = row * 128 + shift;
      port_->copy(to.at(place), from.at(3), size);
      port_->write(to.at(place + 64), source.data() + 3, size);
      port_->read(read[row].data() + shift, from.at(3), size);
      std::memcpy(&expected[place], source.data() + 3, size);
      std::memcpy(&expected[place + 64], source.data() + 3, size);
    }
    if (size % 3 == 0) settle();
  }
  settle();
  EXPECT_EQ(to.read(), expected);
  row = 0;
  for (std::size_t size = 0; size < 40; size += size < 18 ? 1 : 5) {
    for (std::size_t shift = 0; shift < 9; shift += 2, ++row) {
      ASSERT_EQ(std::memcmp(read[row].data() + shift, source.data() + 3, size), 0) << size;
    }
  }
}

TEST_P(GpuDma, MovesLargeRangesWhereverTheyBegin) {
  constexpr std::size_t kWords = 5u << 20;
  Words from(kWords), to(kWords);
  std::vector<std::uint8_t> source(from.bytes());
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i != source.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&source[i], &word, sizeof word);
  }
  from.fill(source);
  std::vector<std::uint8_t> expected(to.bytes(), 0);
  std::uint64_t at = 0;
  for (const auto& [size, shift, lead] :
       std::vector<std::array<std::size_t, 3>>{{9000, 0, 0},
                                               {1u << 20, 0, 16},
                                               {(1u << 20) + 7, 3, 5},
                                               {3u << 20, 1, 3},
                                               {70000, 8, 4},
                                               {24u << 20, 0, 0}}) {
    port_->copy(to.at(at + shift), from.at(lead), size);
    std::memcpy(&expected[at + shift], &source[lead], size);
    at += (size + 4096) / 256 * 256;
  }
  std::vector<std::uint8_t> in(300000), out(300000), host(300000);
  std::memcpy(in.data(), source.data(), in.size());
  port_->write(to.at(at), in.data(), in.size());
  std::memcpy(&expected[at], in.data(), in.size());
  port_->copy({reinterpret_cast<std::uintptr_t>(host.data())}, from.at(9), host.size());
  port_->read(out.data(), from.at(5), out.size());
  settle();
  EXPECT_TRUE(to.read() == expected);
  EXPECT_EQ(std::memcmp(out.data(), &source[5], out.size()), 0);
  EXPECT_EQ(std::memcmp(host.data(), &source[9], host.size()), 0);
}

// One launch does several that touch each other.
TEST_P(GpuDma, LargeCopiesOfAChainThatOverlapComeOneAfterTheOther) {
  constexpr std::size_t kBytes = 8u << 20;
  constexpr std::size_t kHalf = kBytes / 2;
  Words memory(kBytes / sizeof(std::uint64_t));
  std::vector<std::uint8_t> expected(kBytes);
  std::mt19937 random(11);
  for (std::uint8_t& byte : expected) byte = static_cast<std::uint8_t>(random());
  memory.fill(expected);
  const std::uint64_t before = counts().launches;
  for (int i = 0; i < 300; ++i) {
    const std::size_t size = 9000 + random() % (i % 8 == 0 ? 3u << 20 : 200u << 10);
    const std::size_t half = random() % 2 * kHalf;
    const std::size_t from = half + random() % (kHalf - size);
    const std::size_t to = kHalf - half + random() % (kHalf - size);
    port_->copy(memory.at(to), memory.at(from), size);
    std::memcpy(&expected[to], &expected[from], size);
    if (i % 50 == 49) settle();
  }
  EXPECT_TRUE(memory.read() == expected);
  if (GetParam() == DmaMethod::kernels) EXPECT_LT(counts().launches - before, 50u);
}

__global__ void add_beside(std::uint64_t* word, std::uint32_t times) {
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system> shared(*word);
  for (std::uint32_t i = 0; i < times; ++i) shared.fetch_add(1, cuda::memory_order_relaxed);
}

TEST_P(GpuDma, AtomicsLoseNoneOfTheThreadsOwn) {
  if (GetParam() == DmaMethod::copy_engine) GTEST_SKIP() << "the copy engine reads, then writes";
  if (gdakit::test::small()) GTEST_SKIP() << "a tool lets no helper kernel run beside the threads";
  Words word(1);
  const OwnedStream stream = make_stream();
  constexpr std::uint32_t kThreads = 256, kTimes = 20000, kAdds = 500;
  add_beside<<<1, kThreads, 0, stream.get()>>>(word.data(), kTimes);
  std::vector<std::uint64_t> old(kAdds);
  for (std::uint32_t i = 0; i != kAdds; ++i) {
    port_->atomic(word.at(), {.swap_add = std::uint64_t{1} << 32}, &old[i]);
    if (i % 50 == 0) port_->submit();
  }
  settle();
  check(cudaDeviceSynchronize());
  EXPECT_EQ(word.word(0), (std::uint64_t{kAdds} << 32) + kThreads * kTimes);
  for (std::uint32_t i = 0; i != kAdds; ++i) ASSERT_EQ(old[i] >> 32, i);
  EXPECT_EQ(counts().cancelled, 0u);
}

TEST_P(GpuDma, MaskedAtomicsDoWhatTheyDoOnTheHost) {
  Words words(2);
  words.fill({5, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 99, 0, 0, 0});
  std::array<std::uint64_t, 4> old{};
  AtomicRequest swap;
  swap.kind = AtomicKind::compare_swap;
  swap.compare = 5;
  swap.swap_add = 0x1234;
  swap.compare_mask = 0xff;
  swap.swap_mask = 0xff00;
  AtomicRequest fields;
  fields.size = 4;
  fields.swap_add = 0x00ff00ff;
  fields.boundary = 0x80008000;
  port_->atomic(words.at(), swap, &old[0]);
  port_->atomic(words.at(), swap, &old[1]);
  port_->atomic(words.at(8), fields, &old[2]);
  port_->atomic(words.at(8), fields, &old[3]);
  settle();
  EXPECT_EQ(old, (std::array<std::uint64_t, 4>{5, 0x1205, 7, 0x00ff0106}));
  EXPECT_EQ(words.word(0), 0x1205u);
  EXPECT_EQ(words.word(1), 0x01fe0205u + (std::uint64_t{99} << 32));
}

// Waits for the flag of each round, counts what is not yet there then, and says that it has looked.
__global__ void watch_rounds(std::uint64_t* flag, const std::uint64_t* payload, std::uint32_t words,
                             const std::uint64_t* tail, std::uint64_t rounds, std::uint64_t* seen,
                             std::uint64_t* wrong) {
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> watched(*flag);
  const std::uint64_t begin = clock64();
  std::uint64_t last = 0;
  while (last < rounds && clock64() - begin < kLimitCycles) {
    // The CQE is written last: its tail counts like the flag.
    const std::uint64_t cqe =
        cuda::atomic_ref<const std::uint64_t, cuda::thread_scope_device>(*tail).load(
            cuda::memory_order_acquire);
    const std::uint64_t now = watched.load(cuda::memory_order_acquire);
    if (__byte_perm(static_cast<unsigned>(cqe), 0, 0x0123) > now)
      atomicAdd_system(reinterpret_cast<unsigned long long*>(wrong), 1);
    if (now == last) continue;
    for (std::uint32_t i = 0; i != words; ++i) {
      const std::uint64_t word =
          cuda::atomic_ref<const std::uint64_t, cuda::thread_scope_device>(payload[i])
              .load(cuda::memory_order_relaxed);
      if (word < now) atomicAdd_system(reinterpret_cast<unsigned long long*>(wrong), 1);
    }
    last = now;
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(*seen).store(
        last, cuda::memory_order_release);
  }
}

TEST_P(GpuDma, AChainIsSeenInTheOrderQueued) {
  constexpr std::uint64_t kRounds = 400;
  constexpr std::uint32_t kWords = 96;
  Words flag(1), payload(2 * kWords), cqe_place(8);
  Words told(2, Words::Place::pinned);
  const OwnedStream stream = make_stream();
  watch_rounds<<<1, 1, 0, stream.get()>>>(flag.data(), payload.data(), kWords, cqe_place.data() + 7,
                                          kRounds, told.data(), told.data() + 1);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::vector<std::uint64_t> bytes(kWords, round);
    format::Cqe64 cqe{};
    cqe.sop_drop_qpn = Be32{static_cast<std::uint32_t>(round)};
    port_->write(payload.at(), bytes.data(), bytes.size() * 8);
    port_->write(flag.at(), &round, sizeof round);
    port_->write_cqe(cqe_place.at(), cqe);
    port_->submit();
    port_->poll();
    if (round % 7 == 0) settle();
  }
  settle();
  check(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(told.word(0), kRounds);
  EXPECT_EQ(told.word(1), 0u);
}

TEST_P(GpuDma, ThousandsOfWritesInManyChainsAllArrive) {
  constexpr std::size_t kWrites = 20000;
  Words words(kWrites);
  std::vector<std::uint8_t> expected(words.bytes());
  for (std::uint64_t i = 0; i != kWrites; ++i) {
    const std::uint64_t value = i * 0x9e3779b97f4a7c15u;
    port_->order_chain(i % 64);
    port_->write(words.at(8 * i), &value, sizeof value);
    std::memcpy(&expected[8 * i], &value, sizeof value);
    if (i % 777 == 0) {
      port_->submit();
      port_->poll();
    }
  }
  settle();
  EXPECT_EQ(words.read(), expected);
}

// Fills the GPU until the word becomes `wanted`; each block says in a word of `held` that it runs.
__global__ void hold(const std::uint64_t* word, std::uint64_t wanted, std::uint64_t* held) {
  extern __shared__ char room[];
  if (threadIdx.x == 0) {
    room[0] = 0;
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(held[blockIdx.x]).store(wanted);
    const std::uint64_t begin = clock64();
    cuda::atomic_ref<const std::uint64_t, cuda::thread_scope_device> watched(*word);
    while (watched.load(cuda::memory_order_acquire) != wanted && clock64() - begin < kLimitCycles) {
    }
  }
  __syncthreads();
}

TEST_P(GpuDma, WorksBesideAKernelThatFillsTheGpuAndWaitsForIt) {
  int multiprocessors = 0;
  int most_shared = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  check(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  check(cudaFuncSetAttribute(hold, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared));
  Words flag(1), from(1u << 18), to(1u << 18), small(3000);
  Words held(static_cast<std::size_t>(multiprocessors), Words::Place::pinned);
  std::vector<std::uint8_t> source(from.bytes());
  std::iota(source.begin(), source.end(), std::uint8_t{3});
  from.fill(source);
  const OwnedStream stream = make_stream();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const auto blocks = static_cast<unsigned>(multiprocessors);
    hold<<<blocks, 1024, static_cast<std::size_t>(most_shared), stream.get()>>>(flag.data(), round,
                                                                                held.data());
    for (unsigned i = 0; i < blocks; ++i) {
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system> runs(held.data()[i]);
      while (runs.load() != round) std::this_thread::yield();
    }
    std::uint64_t old = 0;
    for (std::uint64_t i = 0; i != 3000; ++i) port_->write(small.at(8 * i), &round, sizeof round);
    port_->submit();
    port_->copy(to.at(), from.at(), from.bytes());
    port_->atomic(to.at(), {.swap_add = round}, &old);
    port_->submit();
    std::uint64_t word = 0;
    port_->read(&word, small.at(8 * 2999), sizeof word);
    port_->write(flag.at(), &round, sizeof round);
    const auto begin = std::chrono::steady_clock::now();
    settle();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(took.count(), 2000);
    RecordProperty("milliseconds", std::to_string(took.count()));
    check(cudaStreamSynchronize(stream.get()));
    std::uint64_t first = 0;
    std::memcpy(&first, source.data(), sizeof first);
    EXPECT_EQ(old, first);
    EXPECT_EQ(to.word(0), first + round);
    EXPECT_EQ(to.word(1), from.word(1));
    EXPECT_EQ(small.word(2999), round);
  }
  if (GetParam() != DmaMethod::copy_engine) {
    EXPECT_NE(counts().cancelled, 0u);
  }
}

// Counts how often the second word is ahead of the first.
__global__ void watch_pair(const std::uint64_t* first, const std::uint64_t* second,
                           std::uint64_t last, std::uint64_t* wrong) {
  const std::uint64_t begin = clock64();
  std::uint64_t now = 0;
  while (now < last && clock64() - begin < kLimitCycles) {
    now = cuda::atomic_ref<const std::uint64_t, cuda::thread_scope_device>(*second).load(
        cuda::memory_order_acquire);
    const std::uint64_t then =
        cuda::atomic_ref<const std::uint64_t, cuda::thread_scope_device>(*first).load(
            cuda::memory_order_relaxed);
    if (then < now) atomicAdd_system(reinterpret_cast<unsigned long long*>(wrong), 1);
  }
}

TEST_P(GpuDma, WhatAnotherPortLaunchesLaterIsSeenLater) {
  std::unique_ptr<DmaPort> other = open();
  Words first(1), second(64), filler(4000);
  Words wrong(1, Words::Place::pinned);
  constexpr std::uint64_t kRounds = 500;
  const OwnedStream stream = make_stream();
  watch_pair<<<1, 1, 0, stream.get()>>>(first.data(), second.data(), kRounds, wrong.data());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    // Batches of any size, so that launches and copies take turns.
    for (std::uint64_t i = 0; i != round % 40; ++i) {
      port_->write(filler.at(8 * (i + 1)), &round, sizeof round);
    }
    const DmaOp op = port_->write(first.at(), &round, sizeof round);
    do {
      port_->submit();
      port_->poll();
    } while (!port_->done(op));
    other->write(second.at(), &round, sizeof round);
    other->submit();
    other->poll();
  }
  settle();
  ASSERT_TRUE(settle(*other));
  check(cudaStreamSynchronize(stream.get()));
  EXPECT_EQ(wrong.word(0), 0u);
  EXPECT_EQ(second.word(0), kRounds);
}

TEST_P(GpuDma, PinnedMemoryIsWrittenAfterWhatCameFirstOnTheGpu) {
  Words payload(4096), cqe_place(8, Words::Place::pinned);
  std::vector<std::uint64_t> bytes(4096);
  for (std::uint32_t round = 1; round <= 50; ++round) {
    std::fill(bytes.begin(), bytes.end(), round);
    format::Cqe64 cqe{};
    cqe.sop_drop_qpn = Be32{round};
    port_->write(payload.at(), bytes.data(), bytes.size() * 8);
    port_->write_cqe(cqe_place.at(), cqe);
    port_->submit();
    while (byte_swap(static_cast<std::uint32_t>(
               __atomic_load_n(cqe_place.data() + 7, __ATOMIC_ACQUIRE))) != round) {
      port_->submit();
      port_->poll();
    }
    ASSERT_EQ(payload.word(0), round);
    ASSERT_EQ(payload.word(4095), round);
  }
}

TEST(GpuDmaReport, NamesEveryMethod) {
  for (const DmaMethodReport& report : report_dma_methods(0)) {
    EXPECT_FALSE(report.sentence.empty());
    std::printf("%-12s %-8s %s\n", dma_method_name(report.method),
                report.usable ? "usable" : "unusable", report.sentence.c_str());
  }
}

}  // namespace
}  // namespace gdakit::softnic

// The tests of names that move data: each is called in all its forms, in a kernel and on the host,
// and what it leaves is held against what the other PE gave.
//
//   CHECK_MOVES(int, int_, , int)          // check_moves_int: nvshmem_int_put and the like
//   CHECK_MOVES(64, , 64, Bits<64>)        // check_moves_64: nvshmem_put64 and the like
//
// The parameters of all: what the test is named by, what stands in a name before put or get, what
// behind it, and the type of an element.
#pragma once

#include <type_traits>

#include "tests/nvshmem/where.h"

namespace where {

// On all PEs, between two barriers.
template <class Kernel>
void run_on_all(const char* what, const Kernel& kernel, unsigned threads = 1) {
  nvshmem_barrier_all();
  run(what, kernel, threads);
  nvshmem_barrier_all();
}

GDAKIT_HOST_DEVICE inline int next_pe() { return (nvshmem_my_pe() + 1) % nvshmem_n_pes(); }
inline int last_pe() { return (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes(); }

// A value that names a PE and an index, in any type.
template <class T>
T value_of(int pe, int i) {
  const int number = 1 + pe * 8 + i;
  if constexpr (std::is_constructible_v<T, float>) {
    return T(static_cast<float>(number));
  } else {
    T value;
    for (std::size_t k = 0; k < sizeof(T); ++k) {
      value.bytes[k] = static_cast<unsigned char>(number + 16 * static_cast<int>(k));
    }
    return value;
  }
}
template <class T>
bool is_same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Symmetric: what a PE gives, and what it gets in several ways.
template <class T, int kElements = kCountOf<T>>
struct Memory {
  static constexpr int kCount = kElements;
  static constexpr int kWays = 6;
  static constexpr int kSpreadWays = 3;

  T* source;  // kCount, and behind them the same at a stride of 3
  T* dest;    // kCount for each way
  T* spread;  // kCount at a stride of 2 for each way

  static Memory make() {
    const Memory memory{static_cast<T*>(nvshmem_malloc(4 * kCount * sizeof(T))),
                        static_cast<T*>(nvshmem_calloc(kWays * kCount, sizeof(T))),
                        static_cast<T*>(nvshmem_calloc(kSpreadWays * 2 * kCount, sizeof(T)))};
    std::vector<T> values(4 * kCount, T{});
    for (int i = 0; i < kCount; ++i) {
      const T value = value_of<T>(nvshmem_my_pe(), i);
      values[static_cast<std::size_t>(i)] = value;
      values[static_cast<std::size_t>(kCount + 3 * i)] = value;
    }
    write(memory.source, values);
    return memory;
  }
  void free() const {
    nvshmem_barrier_all();
    nvshmem_free(source);
    nvshmem_free(dest);
    nvshmem_free(spread);
  }
  GDAKIT_HOST_DEVICE T* way(int number) const { return dest + number * kCount; }
  GDAKIT_HOST_DEVICE T* sparse() const { return source + kCount; }
  GDAKIT_HOST_DEVICE T* spread_way(int number) const { return spread + number * 2 * kCount; }

  // Ways from `first` up to `end` hold what `pe` gave.
  void check(const char* what, int first, int end, int pe) const {
    const auto count = static_cast<std::size_t>((end - first) * kCount);
    const std::vector<T> got = read(way(first), count);
    for (std::size_t i = 0; i < count; ++i) {
      expect(is_same(got[i], value_of<T>(pe, static_cast<int>(i) % kCount)), what);
    }
    write(way(first), std::vector<T>(count, T{}));
  }
  // So do the first `ways` at a stride of 2, with nothing in between.
  void check_spread(const char* what, int ways, int pe) const {
    const auto count = static_cast<std::size_t>(ways * 2 * kCount);
    const std::vector<T> got = read(spread, count);
    for (std::size_t i = 0; i < count; ++i) {
      const T wanted = i % 2 == 0 ? value_of<T>(pe, static_cast<int>(i) / 2 % kCount) : T{};
      expect(is_same(got[i], wanted), what);
    }
    write(spread, std::vector<T>(count, T{}));
  }
};

// What one warp of a block moves of T: each has a part of its own.
template <class T>
struct Part {
  static constexpr int kWarps = (kThreadsOf<T> + 31) / 32;
  int first;
  int count;

  GDAKIT_DEVICE_ONLY static Part of_warp() {
    const int warp = static_cast<int>(thread_index() / 32);
    const int begin = Memory<T>::kCount * warp / kWarps;
    return {begin, Memory<T>::kCount * (warp + 1) / kWarps - begin};
  }
};

}  // namespace where

// MOVE is put or get.
#define MOVES_KERNEL(NAME, BEFORE, MOVE, BEHIND, TYPE)                                    \
  struct NAME {                                                                           \
    Memory<TYPE> m;                                                                       \
    GDAKIT_DEVICE_ONLY void operator()() const {                                          \
      const int n = m.kCount;                                                             \
      const int pe = next_pe();                                                           \
      const auto [at, part] = Part<TYPE>::of_warp();                                      \
      if (thread_index() == 0) {                                                          \
        nvshmem_##BEFORE##MOVE##BEHIND(m.way(0), m.source, n, pe);                        \
        nvshmem_##BEFORE##MOVE##BEHIND##_nbi(m.way(1), m.source, n, pe);                  \
      }                                                                                   \
      nvshmemx_##BEFORE##MOVE##BEHIND##_warp(m.way(2) + at, m.source + at, part, pe);     \
      nvshmemx_##BEFORE##MOVE##BEHIND##_nbi_warp(m.way(3) + at, m.source + at, part, pe); \
      nvshmemx_##BEFORE##MOVE##BEHIND##_block(m.way(4), m.source, n, pe);                 \
      nvshmemx_##BEFORE##MOVE##BEHIND##_nbi_block(m.way(5), m.source, n, pe);             \
      nvshmem_quiet();                                                                    \
    }                                                                                     \
  };

#define CHECK_MOVES(ID, BEFORE, BEHIND, TYPE)                                           \
  MOVES_KERNEL(PutKernel_##ID, BEFORE, put, BEHIND, TYPE)                               \
  MOVES_KERNEL(GetKernel_##ID, BEFORE, get, BEHIND, TYPE)                               \
  template <int>                                                                        \
  void check_moves_##ID() {                                                             \
    const auto m = Memory<TYPE>::make();                                                \
    const int n = m.kCount;                                                             \
    const int pe = next_pe();                                                           \
    run_on_all(#BEFORE "put" #BEHIND, PutKernel_##ID{m}, kThreadsOf<TYPE>);             \
    m.check(#BEFORE "put" #BEHIND, 0, 6, last_pe());                                    \
    run_on_all(#BEFORE "get" #BEHIND, GetKernel_##ID{m}, kThreadsOf<TYPE>);             \
    m.check(#BEFORE "get" #BEHIND, 0, 6, pe);                                           \
    nvshmem_barrier_all();                                                              \
    nvshmem_##BEFORE##put##BEHIND(m.way(0), m.source, n, pe);                           \
    nvshmem_##BEFORE##put##BEHIND##_nbi(m.way(1), m.source, n, pe);                     \
    nvshmemx_##BEFORE##put##BEHIND##_on_stream(m.way(2), m.source, n, pe, nullptr);     \
    nvshmemx_##BEFORE##put##BEHIND##_nbi_on_stream(m.way(3), m.source, n, pe, nullptr); \
    nvshmemx_quiet_on_stream(nullptr);                                                  \
    nvshmem_barrier_all();                                                              \
    m.check("host " #BEFORE "put" #BEHIND, 0, 4, last_pe());                            \
    nvshmem_##BEFORE##get##BEHIND(m.way(0), m.source, n, pe);                           \
    nvshmem_##BEFORE##get##BEHIND##_nbi(m.way(1), m.source, n, pe);                     \
    nvshmemx_##BEFORE##get##BEHIND##_on_stream(m.way(2), m.source, n, pe, nullptr);     \
    nvshmemx_##BEFORE##get##BEHIND##_nbi_on_stream(m.way(3), m.source, n, pe, nullptr); \
    nvshmemx_quiet_on_stream(nullptr);                                                  \
    nvshmem_quiet();                                                                    \
    m.check("host " #BEFORE "get" #BEHIND, 0, 4, pe);                                   \
    m.free();                                                                           \
  }

// From a stride of 3 to one of 2.
#define STRIDES_KERNEL(NAME, BEFORE, MOVE, BEHIND, TYPE)                                          \
  struct NAME {                                                                                   \
    Memory<TYPE> m;                                                                               \
    GDAKIT_DEVICE_ONLY void operator()() const {                                                  \
      const int n = m.kCount;                                                                     \
      const int pe = next_pe();                                                                   \
      const auto [at, part] = Part<TYPE>::of_warp();                                              \
      if (thread_index() == 0) {                                                                  \
        nvshmem_##BEFORE##MOVE##BEHIND(m.spread_way(0), m.sparse(), 2, 3, n, pe);                 \
      }                                                                                           \
      nvshmemx_##BEFORE##MOVE##BEHIND##_warp(m.spread_way(1) + 2 * at, m.sparse() + 3 * at, 2, 3, \
                                             part, pe);                                           \
      nvshmemx_##BEFORE##MOVE##BEHIND##_block(m.spread_way(2), m.sparse(), 2, 3, n, pe);          \
      nvshmem_quiet();                                                                            \
    }                                                                                             \
  };

#define CHECK_STRIDES(ID, BEFORE, BEHIND, TYPE)                                           \
  STRIDES_KERNEL(IputKernel_##ID, BEFORE, iput, BEHIND, TYPE)                             \
  STRIDES_KERNEL(IgetKernel_##ID, BEFORE, iget, BEHIND, TYPE)                             \
  template <int>                                                                          \
  void check_strides_##ID() {                                                             \
    const auto m = Memory<TYPE>::make();                                                  \
    const int n = m.kCount;                                                               \
    const int pe = next_pe();                                                             \
    run_on_all(#BEFORE "iput" #BEHIND, IputKernel_##ID{m}, kThreadsOf<TYPE>);             \
    m.check_spread(#BEFORE "iput" #BEHIND, 3, last_pe());                                 \
    run_on_all(#BEFORE "iget" #BEHIND, IgetKernel_##ID{m}, kThreadsOf<TYPE>);             \
    m.check_spread(#BEFORE "iget" #BEHIND, 3, pe);                                        \
    nvshmem_barrier_all();                                                                \
    nvshmem_##BEFORE##iput##BEHIND(m.spread_way(0), m.sparse(), 2, 3, n, pe);             \
    nvshmemx_##BEFORE##iput##BEHIND##_on_stream(m.spread_way(1), m.sparse(), 2, 3, n, pe, \
                                                nullptr);                                 \
    nvshmemx_quiet_on_stream(nullptr);                                                    \
    nvshmem_barrier_all();                                                                \
    m.check_spread("host " #BEFORE "iput" #BEHIND, 2, last_pe());                         \
    nvshmem_##BEFORE##iget##BEHIND(m.spread_way(0), m.sparse(), 2, 3, n, pe);             \
    nvshmemx_##BEFORE##iget##BEHIND##_on_stream(m.spread_way(1), m.sparse(), 2, 3, n, pe, \
                                                nullptr);                                 \
    nvshmem_quiet();                                                                      \
    m.check_spread("host " #BEFORE "iget" #BEHIND, 2, pe);                                \
    m.free();                                                                             \
  }

// Every thread's and block's put adds 1 to the signal, and each warp's.
#define CHECK_SIGNALS(ID, BEFORE, BEHIND, TYPE)                                                   \
  struct SignalKernel_##ID {                                                                      \
    static constexpr uint64_t kSignals = 4 + 2 * Part<TYPE>::kWarps;                              \
    Memory<TYPE> m;                                                                               \
    uint64_t* word;                                                                               \
    GDAKIT_DEVICE_ONLY void operator()() const {                                                  \
      const int n = m.kCount;                                                                     \
      const int pe = next_pe();                                                                   \
      const int add = NVSHMEM_SIGNAL_ADD;                                                         \
      const auto [at, part] = Part<TYPE>::of_warp();                                              \
      if (thread_index() == 0) {                                                                  \
        nvshmem_##BEFORE##put##BEHIND##_signal(m.way(0), m.source, n, word, 1, add, pe);          \
        nvshmem_##BEFORE##put##BEHIND##_signal_nbi(m.way(1), m.source, n, word, 1, add, pe);      \
      }                                                                                           \
      nvshmemx_##BEFORE##put##BEHIND##_signal_warp(m.way(2) + at, m.source + at, part, word, 1,   \
                                                   add, pe);                                      \
      nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_warp(m.way(3) + at, m.source + at, part, word,  \
                                                       1, add, pe);                               \
      nvshmemx_##BEFORE##put##BEHIND##_signal_block(m.way(4), m.source, n, word, 1, add, pe);     \
      nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_block(m.way(5), m.source, n, word, 1, add, pe); \
      if (nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, kSignals) != kSignals) *word = 1000;    \
    }                                                                                             \
  };                                                                                              \
  template <int>                                                                                  \
  void check_signals_##ID() {                                                                     \
    const auto m = Memory<TYPE>::make();                                                          \
    const int n = m.kCount;                                                                       \
    const int pe = next_pe();                                                                     \
    auto* const word = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));               \
    const SignalKernel_##ID kernel{m, word};                                                      \
    run_on_all(#BEFORE "put" #BEHIND "_signal", kernel, kThreadsOf<TYPE>);                        \
    expect(read(word) == kernel.kSignals, "signals of " #BEFORE "put" #BEHIND);                   \
    m.check(#BEFORE "put" #BEHIND "_signal", 0, 6, last_pe());                                    \
    nvshmem_barrier_all();                                                                        \
    nvshmemx_##BEFORE##put##BEHIND##_signal_on_stream(m.way(0), m.source, n, word, 9,             \
                                                      NVSHMEM_SIGNAL_SET, pe, nullptr);           \
    nvshmemx_signal_wait_until_on_stream(word, NVSHMEM_CMP_GE, 9, nullptr);                       \
    nvshmemx_##BEFORE##put##BEHIND##_signal_nbi_on_stream(m.way(1), m.source, n, word, 2,         \
                                                          NVSHMEM_SIGNAL_ADD, pe, nullptr);       \
    nvshmemx_signal_wait_until_on_stream(word, NVSHMEM_CMP_EQ, 11, nullptr);                      \
    nvshmem_barrier_all();                                                                        \
    m.check("host " #BEFORE "put" #BEHIND "_signal", 0, 2, last_pe());                            \
    m.free();                                                                                     \
    nvshmem_free(word);                                                                           \
  }

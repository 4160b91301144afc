// Every name of NVSHMEM's that moves, changes, waits or meets, for every type, in kernels and on
// the host. Run by `gdakit run`; exits with 0 if all of them did what they say.
#include "tests/nvshmem/where.h"

namespace {

using namespace where;

// On all PEs, between two barriers.
template <class Kernel>
void run_on_all(const char* what, const Kernel& kernel, unsigned threads = 1) {
  nvshmem_barrier_all();
  run(what, kernel, threads);
  nvshmem_barrier_all();
}

GDAKIT_HOST_DEVICE int next_pe() { return (nvshmem_my_pe() + 1) % nvshmem_n_pes(); }
int last_pe() { return (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes(); }

template <class T>
GDAKIT_HOST_DEVICE T as(int value) {
  return static_cast<T>(value);
}

// A value that names a PE and an index, in any type.
template <class T>
T value_of(int pe, int i) {
  return T(static_cast<float>(1 + pe * 8 + i));
}
template <class T>
bool is_same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

constexpr int kCount = 5;

// Symmetric: what a PE gives, and what it gets in several ways.
template <class T>
struct Memory {
  T* source;
  T* dest;  // kCount for each way
  static constexpr int kWays = 12;

  static Memory make() {
    Memory memory{static_cast<T*>(nvshmem_malloc(kCount * sizeof(T))),
                  static_cast<T*>(nvshmem_calloc(kWays * kCount, sizeof(T)))};
    std::vector<T> values;
    for (int i = 0; i < kCount; ++i) values.push_back(value_of<T>(nvshmem_my_pe(), i));
    write(memory.source, values);
    return memory;
  }
  void free() const {
    nvshmem_free(source);
    nvshmem_free(dest);
  }
  GDAKIT_HOST_DEVICE T* way(int number) const { return dest + number * kCount; }

  // Ways 0 to `ways` - 1 hold what `pe` gave.
  void check(const char* what, int ways, int pe) const {
    const std::vector<T> got = read(dest, kWays * kCount);
    for (int i = 0; i < ways * kCount; ++i) {
      expect(is_same(got[static_cast<std::size_t>(i)], value_of<T>(pe, i % kCount)), what);
    }
    write(dest, std::vector<T>(kWays * kCount, T(0.0f)));
  }
};

#define CHECK_MOVES(NAME, TYPE)                                                                \
  struct PutKernel_##NAME {                                                                    \
    Memory<TYPE> m;                                                                            \
    GDAKIT_DEVICE_ONLY void operator()() const {                                               \
      const int pe = next_pe();                                                                \
      if (thread_index() == 0) {                                                               \
        nvshmem_##NAME##_put(m.way(0), m.source, kCount, pe);                                  \
        nvshmem_##NAME##_put_nbi(m.way(1), m.source, kCount, pe);                              \
        nvshmem_##NAME##_iput(m.way(2), m.source, 1, 1, kCount, pe);                           \
        for (int i = 0; i < kCount; ++i) nvshmem_##NAME##_p(m.way(3) + i, m.source[i], pe);    \
      }                                                                                        \
      nvshmemx_##NAME##_put_warp(m.way(4), m.source, kCount, pe);                              \
      nvshmemx_##NAME##_put_nbi_warp(m.way(5), m.source, kCount, pe);                          \
      nvshmemx_##NAME##_iput_warp(m.way(6), m.source, 1, 1, kCount, pe);                       \
      nvshmemx_##NAME##_put_block(m.way(7), m.source, kCount, pe);                             \
      nvshmemx_##NAME##_put_nbi_block(m.way(8), m.source, kCount, pe);                         \
      nvshmemx_##NAME##_iput_block(m.way(9), m.source, 1, 1, kCount, pe);                      \
      nvshmem_quiet();                                                                         \
    }                                                                                          \
  };                                                                                           \
  struct GetKernel_##NAME {                                                                    \
    Memory<TYPE> m;                                                                            \
    GDAKIT_DEVICE_ONLY void operator()() const {                                               \
      const int pe = next_pe();                                                                \
      if (thread_index() == 0) {                                                               \
        nvshmem_##NAME##_get(m.way(0), m.source, kCount, pe);                                  \
        nvshmem_##NAME##_get_nbi(m.way(1), m.source, kCount, pe);                              \
        nvshmem_##NAME##_iget(m.way(2), m.source, 1, 1, kCount, pe);                           \
        for (int i = 0; i < kCount; ++i) m.way(3)[i] = nvshmem_##NAME##_g(m.source + i, pe);   \
      }                                                                                        \
      nvshmemx_##NAME##_get_warp(m.way(4), m.source, kCount, pe);                              \
      nvshmemx_##NAME##_get_nbi_warp(m.way(5), m.source, kCount, pe);                          \
      nvshmemx_##NAME##_iget_warp(m.way(6), m.source, 1, 1, kCount, pe);                       \
      nvshmemx_##NAME##_get_block(m.way(7), m.source, kCount, pe);                             \
      nvshmemx_##NAME##_get_nbi_block(m.way(8), m.source, kCount, pe);                         \
      nvshmemx_##NAME##_iget_block(m.way(9), m.source, 1, 1, kCount, pe);                      \
      nvshmem_quiet();                                                                         \
    }                                                                                          \
  };                                                                                           \
  template <int>                                                                               \
  void check_moves_##NAME() {                                                                  \
    const auto m = Memory<TYPE>::make();                                                       \
    run_on_all("put " #NAME, PutKernel_##NAME{m}, kThreads);                                   \
    m.check("put " #NAME, 10, last_pe());                                                      \
    run_on_all("get " #NAME, GetKernel_##NAME{m}, kThreads);                                   \
    m.check("get " #NAME, 10, next_pe());                                                      \
    nvshmem_barrier_all();                                                                     \
    const int pe = next_pe();                                                                  \
    nvshmem_##NAME##_put(m.way(0), m.source, kCount, pe);                                      \
    nvshmem_##NAME##_put_nbi(m.way(1), m.source, kCount, pe);                                  \
    nvshmem_##NAME##_iput(m.way(2), m.source, 1, 1, kCount, pe);                               \
    for (int i = 0; i < kCount; ++i) nvshmem_##NAME##_p(m.way(3) + i, read(m.source + i), pe); \
    nvshmemx_##NAME##_put_on_stream(m.way(4), m.source, kCount, pe, nullptr);                  \
    nvshmemx_##NAME##_put_nbi_on_stream(m.way(5), m.source, kCount, pe, nullptr);              \
    nvshmemx_##NAME##_iput_on_stream(m.way(6), m.source, 1, 1, kCount, pe, nullptr);           \
    for (int i = 0; i < kCount; ++i) {                                                         \
      nvshmemx_##NAME##_p_on_stream(m.way(7) + i, read(m.source + i), pe, nullptr);            \
    }                                                                                          \
    nvshmemx_quiet_on_stream(nullptr);                                                         \
    nvshmem_barrier_all();                                                                     \
    m.check("host put " #NAME, 8, last_pe());                                                  \
    nvshmem_##NAME##_get(m.way(0), m.source, kCount, pe);                                      \
    nvshmem_##NAME##_get_nbi(m.way(1), m.source, kCount, pe);                                  \
    nvshmem_##NAME##_iget(m.way(2), m.source, 1, 1, kCount, pe);                               \
    for (int i = 0; i < kCount; ++i) {                                                         \
      write(m.way(3) + i, nvshmem_##NAME##_g(m.source + i, pe));                               \
    }                                                                                          \
    nvshmemx_##NAME##_get_on_stream(m.way(4), m.source, kCount, pe, nullptr);                  \
    nvshmemx_##NAME##_get_nbi_on_stream(m.way(5), m.source, kCount, pe, nullptr);              \
    nvshmem_quiet();                                                                           \
    m.check("host get " #NAME, 6, next_pe());                                                  \
    nvshmem_barrier_all();                                                                     \
    m.free();                                                                                  \
  }

GDAKIT_NVSHMEM_TYPES(CHECK_MOVES)

#define CHECK_SIGNALS(NAME, TYPE)                                                                 \
  struct SignalKernel_##NAME {                                                                    \
    Memory<TYPE> m;                                                                               \
    uint64_t* word;                                                                               \
    GDAKIT_DEVICE_ONLY void operator()() const {                                                  \
      const int pe = next_pe();                                                                   \
      if (thread_index() == 0) {                                                                  \
        nvshmem_##NAME##_put_signal(m.way(0), m.source, kCount, word, 1, NVSHMEM_SIGNAL_ADD, pe); \
        nvshmem_##NAME##_put_signal_nbi(m.way(1), m.source, kCount, word, 1, NVSHMEM_SIGNAL_ADD,  \
                                        pe);                                                      \
      }                                                                                           \
      nvshmemx_##NAME##_put_signal_warp(m.way(2), m.source, kCount, word, 1, NVSHMEM_SIGNAL_ADD,  \
                                        pe);                                                      \
      nvshmemx_##NAME##_put_signal_nbi_warp(m.way(3), m.source, kCount, word, 1,                  \
                                            NVSHMEM_SIGNAL_ADD, pe);                              \
      nvshmemx_##NAME##_put_signal_block(m.way(4), m.source, kCount, word, 1, NVSHMEM_SIGNAL_ADD, \
                                         pe);                                                     \
      nvshmemx_##NAME##_put_signal_nbi_block(m.way(5), m.source, kCount, word, 1,                 \
                                             NVSHMEM_SIGNAL_ADD, pe);                             \
      if (nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, 6) != 6) *word = 1000;                  \
    }                                                                                             \
  };                                                                                              \
  template <int>                                                                                  \
  void check_signals_##NAME() {                                                                   \
    const auto m = Memory<TYPE>::make();                                                          \
    auto* const word = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));               \
    run_on_all("put_signal " #NAME, SignalKernel_##NAME{m, word}, kThreads);                      \
    expect(read(word) == 6, "signals of " #NAME);                                                 \
    m.check("put_signal " #NAME, 6, last_pe());                                                   \
    nvshmem_barrier_all();                                                                        \
    nvshmemx_##NAME##_put_signal_on_stream(m.way(0), m.source, kCount, word, 9,                   \
                                           NVSHMEM_SIGNAL_SET, next_pe(), nullptr);               \
    nvshmemx_signal_wait_until_on_stream(word, NVSHMEM_CMP_EQ, 9, nullptr);                       \
    m.check("put_signal on stream " #NAME, 1, last_pe());                                         \
    nvshmem_barrier_all();                                                                        \
    m.free();                                                                                     \
    nvshmem_free(word);                                                                           \
  }
GDAKIT_NVSHMEM_TYPES(CHECK_SIGNALS)

// Signals without data.
struct SignalWord {
  uint64_t* word;
  bool* seen;
  GDAKIT_DEVICE_ONLY void operator()() const {
    nvshmemx_signal_op(word, 5, NVSHMEM_SIGNAL_SET, next_pe());
    nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, 5);
    nvshmemx_signal_op(word, 2, NVSHMEM_SIGNAL_ADD, next_pe());
    nvshmem_signal_wait_until(word, NVSHMEM_CMP_GT, 5);
    *seen = nvshmem_signal_fetch(word) == 7;
  }
};
void check_signal_word() {
  auto* const word = static_cast<uint64_t*>(nvshmem_calloc(1, sizeof(uint64_t)));
  Shared<bool> seen(1);
  run_on_all("signal_op", SignalWord{word, seen.get()});
  expect(seen[0], "signal_fetch");
  nvshmemx_signal_op_on_stream(word, 3, NVSHMEM_SIGNAL_ADD, next_pe(), nullptr);
  nvshmemx_signal_wait_until_on_stream(word, NVSHMEM_CMP_EQ, 10, nullptr);
  expect(read(word) == 10, "signal_op_on_stream");
  nvshmem_barrier_all();
  nvshmemx_signal_op(word, 20, NVSHMEM_SIGNAL_SET, next_pe());
  nvshmemx_signal_op(word, 1, NVSHMEM_SIGNAL_ADD, next_pe());
  nvshmem_barrier_all();
  expect(nvshmem_signal_fetch(word) == 21, "signal_op and signal_fetch on the host");
  nvshmem_barrier_all();
  nvshmem_free(word);
}

// Every PE does each to its word on the next one; what it fetches must be the value before.
#define CHECK_ADDING(NAME, TYPE)                                                                   \
  struct AddKernel_##NAME {                                                                        \
    TYPE* word;                                                                                    \
    int* good;                                                                                     \
    GDAKIT_DEVICE_ONLY void operator()() const {                                                   \
      const int pe = next_pe();                                                                    \
      *good = 1;                                                                                   \
      const auto was = [&](TYPE old, int expected) { *good &= old == as<TYPE>(expected); };        \
      nvshmem_##NAME##_atomic_add(word, as<TYPE>(5), pe);                                          \
      was(nvshmem_##NAME##_atomic_fetch_add(word, as<TYPE>(2), pe), 5);                            \
      nvshmem_##NAME##_atomic_inc(word, pe);                                                       \
      was(nvshmem_##NAME##_atomic_fetch_inc(word, pe), 8);                                         \
      was(nvshmem_##NAME##_atomic_compare_swap(word, as<TYPE>(9), as<TYPE>(20), pe), 9);           \
      was(nvshmem_##NAME##_atomic_compare_swap(word, as<TYPE>(9), as<TYPE>(30), pe), 20);          \
      was(nvshmem_##NAME##_atomic_fetch(word, pe), 20);                                            \
    }                                                                                              \
  };                                                                                               \
  template <int>                                                                                   \
  void check_adding_##NAME() {                                                                     \
    auto* const word = static_cast<TYPE*>(nvshmem_calloc(1, sizeof(TYPE)));                        \
    Shared<int> good(1);                                                                           \
    run_on_all("atomics " #NAME, AddKernel_##NAME{word, good.get()});                              \
    expect(good[0] == 1 && read(word) == as<TYPE>(20), "atomics " #NAME);                          \
    const int pe = next_pe();                                                                      \
    nvshmem_barrier_all();                                                                         \
    nvshmem_##NAME##_atomic_add(word, as<TYPE>(1), pe);                                            \
    expect(nvshmem_##NAME##_atomic_fetch_add(word, as<TYPE>(2), pe) == as<TYPE>(21),               \
           "host " #NAME);                                                                         \
    nvshmem_##NAME##_atomic_inc(word, pe);                                                         \
    expect(nvshmem_##NAME##_atomic_fetch_inc(word, pe) == as<TYPE>(24), "host " #NAME);            \
    expect(                                                                                        \
        nvshmem_##NAME##_atomic_compare_swap(word, as<TYPE>(25), as<TYPE>(7), pe) == as<TYPE>(25), \
        "host compare_swap " #NAME);                                                               \
    expect(nvshmem_##NAME##_atomic_fetch(word, pe) == as<TYPE>(7), "host fetch " #NAME);           \
    nvshmem_barrier_all();                                                                         \
    nvshmem_free(word);                                                                            \
  }
GDAKIT_NVSHMEM_ATOMIC_TYPES(CHECK_ADDING)

#define CHECK_SETTING(NAME, TYPE)                                                     \
  struct SetKernel_##NAME {                                                           \
    TYPE* word;                                                                       \
    int* good;                                                                        \
    GDAKIT_DEVICE_ONLY void operator()() const {                                      \
      const int pe = next_pe();                                                       \
      nvshmem_##NAME##_atomic_set(word, as<TYPE>(5), pe);                             \
      *good = nvshmem_##NAME##_atomic_swap(word, as<TYPE>(6), pe) == as<TYPE>(5) &&   \
              nvshmem_##NAME##_atomic_fetch(word, pe) == as<TYPE>(6);                 \
    }                                                                                 \
  };                                                                                  \
  template <int>                                                                      \
  void check_setting_##NAME() {                                                       \
    auto* const word = static_cast<TYPE*>(nvshmem_calloc(1, sizeof(TYPE)));           \
    Shared<int> good(1);                                                              \
    run_on_all("set " #NAME, SetKernel_##NAME{word, good.get()});                     \
    expect(good[0] == 1 && read(word) == as<TYPE>(6), "set " #NAME);                  \
    nvshmem_barrier_all();                                                            \
    nvshmem_##NAME##_atomic_set(word, as<TYPE>(8), next_pe());                        \
    expect(nvshmem_##NAME##_atomic_swap(word, as<TYPE>(9), next_pe()) == as<TYPE>(8), \
           "host " #NAME);                                                            \
    nvshmem_barrier_all();                                                            \
    expect(read(word) == as<TYPE>(9), "host set " #NAME);                             \
    expect(nvshmem_##NAME##_atomic_fetch(word, nvshmem_my_pe()) == as<TYPE>(9),       \
           "host fetch " #NAME);                                                      \
    nvshmem_barrier_all();                                                            \
    nvshmem_free(word);                                                               \
  }
GDAKIT_NVSHMEM_SET_TYPES(CHECK_SETTING)

#define CHECK_BITS(NAME, TYPE)                                                            \
  struct BitKernel_##NAME {                                                               \
    TYPE* word;                                                                           \
    int* good;                                                                            \
    GDAKIT_DEVICE_ONLY void operator()() const {                                          \
      const int pe = next_pe();                                                           \
      nvshmem_##NAME##_atomic_or(word, as<TYPE>(12), pe);                                 \
      *good = nvshmem_##NAME##_atomic_fetch_and(word, as<TYPE>(6), pe) == as<TYPE>(12);   \
      *good &= nvshmem_##NAME##_atomic_fetch_or(word, as<TYPE>(3), pe) == as<TYPE>(4);    \
      *good &= nvshmem_##NAME##_atomic_fetch_xor(word, as<TYPE>(5), pe) == as<TYPE>(7);   \
      nvshmem_##NAME##_atomic_xor(word, as<TYPE>(9), pe);                                 \
      nvshmem_##NAME##_atomic_and(word, as<TYPE>(10), pe);                                \
      nvshmem_quiet();                                                                    \
    }                                                                                     \
  };                                                                                      \
  template <int>                                                                          \
  void check_bits_##NAME() {                                                              \
    auto* const word = static_cast<TYPE*>(nvshmem_calloc(1, sizeof(TYPE)));               \
    Shared<int> good(1);                                                                  \
    run_on_all("bits " #NAME, BitKernel_##NAME{word, good.get()});                        \
    expect(good[0] == 1 && read(word) == as<TYPE>(10), "bits " #NAME);                    \
    nvshmem_barrier_all();                                                                \
    nvshmem_##NAME##_atomic_xor(word, as<TYPE>(3), next_pe());                            \
    expect(nvshmem_##NAME##_atomic_fetch_or(word, as<TYPE>(4), next_pe()) == as<TYPE>(9), \
           "host bits " #NAME);                                                           \
    nvshmem_barrier_all();                                                                \
    nvshmem_free(word);                                                                   \
  }
GDAKIT_NVSHMEM_BIT_TYPES(CHECK_BITS)

#define CHECK_WAITS(NAME, TYPE)                                                                    \
  struct WaitKernel_##NAME {                                                                       \
    TYPE* words;                                                                                   \
    int* good;                                                                                     \
    GDAKIT_DEVICE_ONLY void operator()() const {                                                   \
      const int pe = next_pe();                                                                    \
      TYPE values[3] = {as<TYPE>(1), as<TYPE>(2), as<TYPE>(3)};                                    \
      size_t indices[3] = {};                                                                      \
      for (int i = 0; i < 3; ++i) nvshmem_##NAME##_p(words + i, values[i], pe);                    \
      nvshmem_##NAME##_wait_until(words, NVSHMEM_CMP_EQ, as<TYPE>(1));                             \
      nvshmem_##NAME##_wait_until_all(words, 3, nullptr, NVSHMEM_CMP_GE, as<TYPE>(1));             \
      nvshmem_##NAME##_wait_until_all_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, values);           \
      *good =                                                                                      \
          nvshmem_##NAME##_wait_until_any(words, 3, nullptr, NVSHMEM_CMP_GT, as<TYPE>(1)) == 1;    \
      *good &=                                                                                     \
          nvshmem_##NAME##_wait_until_any_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, values) == 0;  \
      *good &= nvshmem_##NAME##_wait_until_some(words, 3, indices, nullptr, NVSHMEM_CMP_NE,        \
                                                as<TYPE>(2)) == 2 &&                               \
               indices[1] == 2;                                                                    \
      *good &= nvshmem_##NAME##_wait_until_some_vector(words, 3, indices, nullptr, NVSHMEM_CMP_LE, \
                                                       values) == 3;                               \
      *good &= nvshmem_##NAME##_test(words, NVSHMEM_CMP_LT, as<TYPE>(1)) == 0;                     \
      *good &= nvshmem_##NAME##_test_all(words, 3, nullptr, NVSHMEM_CMP_LE, as<TYPE>(3)) == 1;     \
      *good &= nvshmem_##NAME##_test_all_vector(words, 3, nullptr, NVSHMEM_CMP_EQ, values) == 1;   \
      *good &= nvshmem_##NAME##_test_any(words, 3, nullptr, NVSHMEM_CMP_EQ, as<TYPE>(3)) == 2;     \
      *good &=                                                                                     \
          nvshmem_##NAME##_test_any_vector(words, 3, nullptr, NVSHMEM_CMP_NE, values) == SIZE_MAX; \
      *good &= nvshmem_##NAME##_test_some(words, 3, indices, nullptr, NVSHMEM_CMP_EQ,              \
                                          as<TYPE>(2)) == 1 &&                                     \
               indices[0] == 1;                                                                    \
      *good &= nvshmem_##NAME##_test_some_vector(words, 3, indices, nullptr, NVSHMEM_CMP_GE,       \
                                                 values) == 3;                                     \
    }                                                                                              \
  };                                                                                               \
  template <int>                                                                                   \
  void check_waits_##NAME() {                                                                      \
    auto* const words = static_cast<TYPE*>(nvshmem_calloc(3, sizeof(TYPE)));                       \
    Shared<int> good(1);                                                                           \
    run_on_all("waits " #NAME, WaitKernel_##NAME{words, good.get()});                              \
    expect(good[0] == 1, "waits " #NAME);                                                          \
    nvshmemx_##NAME##_wait_until_on_stream(words, NVSHMEM_CMP_EQ, as<TYPE>(1), nullptr);           \
    nvshmemx_##NAME##_wait_until_all_on_stream(words, 3, nullptr, NVSHMEM_CMP_GE, as<TYPE>(1),     \
                                               nullptr);                                           \
    nvshmemx_##NAME##_wait_until_all_vector_on_stream(words, 3, nullptr, NVSHMEM_CMP_EQ, words,    \
                                                      nullptr);                                    \
    nvshmem_barrier_all();                                                                         \
    nvshmem_free(words);                                                                           \
  }
GDAKIT_NVSHMEM_WAIT_TYPES(CHECK_WAITS)

#define CALL_MOVES(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_moves_##NAME)
#define CALL_SIGNALS(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_signals_##NAME)
#define CALL_ADDING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_adding_##NAME)
#define CALL_SETTING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_setting_##NAME)
#define CALL_BITS(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_bits_##NAME)
#define CALL_WAITS(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_waits_##NAME)
template <int kPart, int kParts>
void check_all() {
  GDAKIT_NVSHMEM_TYPES(CALL_MOVES)
  GDAKIT_NVSHMEM_TYPES(CALL_SIGNALS)
  GDAKIT_NVSHMEM_ATOMIC_TYPES(CALL_ADDING)
  GDAKIT_NVSHMEM_SET_TYPES(CALL_SETTING)
  GDAKIT_NVSHMEM_BIT_TYPES(CALL_BITS)
  GDAKIT_NVSHMEM_WAIT_TYPES(CALL_WAITS)
  check_signal_word();
}

}  // namespace

// With an argument by the names for libraries.
int main(int argc, char**) {
  const bool by_hostlib = argc > 1;
  if (by_hostlib) {
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    expect(nvshmemx_hostlib_init_attr(0, &attributes) == 0, "hostlib_init_attr");
  } else {
    nvshmem_init();
  }
  check_all<GDAKIT_TEST_PART, GDAKIT_TEST_PARTS>();
  by_hostlib ? nvshmemx_hostlib_finalize() : nvshmem_finalize();
  std::printf("%s\n", failures == 0 ? "all names did what they say" : "some names failed");
  return failures == 0 ? 0 : 1;
}

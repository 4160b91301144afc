// Every name of NVSHMEM's that moves, changes, waits or meets, for every type, in kernels and on
// the host. Run by `gdakit run`; exits with 0 if all of them did what they say.
#include "tests/nvshmem/moves.h"

namespace {

using namespace where;

template <class T>
GDAKIT_HOST_DEVICE T as(int value) {
  return static_cast<T>(value);
}

#define CHECK_TYPE(NAME, TYPE)         \
  CHECK_MOVES(NAME, NAME##_, , TYPE)   \
  CHECK_STRIDES(NAME, NAME##_, , TYPE) \
  CHECK_SIGNALS(NAME, NAME##_, , TYPE)
GDAKIT_NVSHMEM_TYPES(CHECK_TYPE)
#define CHECK_SIZE(BITS, TYPE)      \
  CHECK_MOVES(BITS, , BITS, TYPE)   \
  CHECK_STRIDES(BITS, , BITS, TYPE) \
  CHECK_SIGNALS(BITS, , BITS, TYPE)
GDAKIT_NVSHMEM_SIZES(CHECK_SIZE)
CHECK_MOVES(mem, , mem, unsigned char)
CHECK_SIGNALS(mem, , mem, unsigned char)

// Values one by one: few of each type, for every call is a round trip.
template <class T>
using Few = Memory<T, 3>;
#define CHECK_VALUES(NAME, TYPE)                                                     \
  struct ValuesKernel_##NAME {                                                       \
    Few<TYPE> m;                                                                     \
    GDAKIT_DEVICE_ONLY void operator()() const {                                     \
      const int pe = next_pe();                                                      \
      for (int i = 0; i < m.kCount; ++i) {                                           \
        nvshmem_##NAME##_p(m.way(0) + i, m.source[i], pe);                           \
        m.way(1)[i] = nvshmem_##NAME##_g(m.source + i, pe);                          \
      }                                                                              \
      nvshmem_quiet();                                                               \
    }                                                                                \
  };                                                                                 \
  template <int>                                                                     \
  void check_values_##NAME() {                                                       \
    const auto m = Few<TYPE>::make();                                                \
    const int pe = next_pe();                                                        \
    run_on_all("p and g of " #NAME, ValuesKernel_##NAME{m});                         \
    m.check("p of " #NAME, 0, 1, last_pe());                                         \
    m.check("g of " #NAME, 1, 2, pe);                                                \
    nvshmem_barrier_all();                                                           \
    for (int i = 0; i < m.kCount; ++i) {                                             \
      const TYPE value = read(m.source + i);                                         \
      nvshmem_##NAME##_p(m.way(0) + i, value, pe);                                   \
      nvshmemx_##NAME##_p_on_stream(m.way(1) + i, value, pe, nullptr);               \
      write(m.way(2) + i, nvshmem_##NAME##_g(m.source + i, pe));                     \
      write(m.way(3) + i, nvshmemx_##NAME##_g_on_stream(m.source + i, pe, nullptr)); \
    }                                                                                \
    nvshmemx_quiet_on_stream(nullptr);                                               \
    nvshmem_barrier_all();                                                           \
    m.check("host p of " #NAME, 0, 2, last_pe());                                    \
    m.check("host g of " #NAME, 2, 4, pe);                                           \
    m.free();                                                                        \
  }
GDAKIT_NVSHMEM_TYPES(CHECK_VALUES)

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

#define CHECK_BITS(NAME, TYPE)                                                          \
  struct BitKernel_##NAME {                                                             \
    TYPE* word;                                                                         \
    int* good;                                                                          \
    GDAKIT_DEVICE_ONLY void operator()() const {                                        \
      const int pe = next_pe();                                                         \
      nvshmem_##NAME##_atomic_or(word, as<TYPE>(12), pe);                               \
      *good = nvshmem_##NAME##_atomic_fetch_and(word, as<TYPE>(6), pe) == as<TYPE>(12); \
      *good &= nvshmem_##NAME##_atomic_fetch_or(word, as<TYPE>(3), pe) == as<TYPE>(4);  \
      *good &= nvshmem_##NAME##_atomic_fetch_xor(word, as<TYPE>(5), pe) == as<TYPE>(7); \
      nvshmem_##NAME##_atomic_xor(word, as<TYPE>(9), pe);                               \
      nvshmem_##NAME##_atomic_and(word, as<TYPE>(10), pe);                              \
      nvshmem_quiet();                                                                  \
    }                                                                                   \
  };                                                                                    \
  template <int>                                                                        \
  void check_bits_##NAME() {                                                            \
    auto* const word = static_cast<TYPE*>(nvshmem_calloc(1, sizeof(TYPE)));             \
    Shared<int> good(1);                                                                \
    run_on_all("bits " #NAME, BitKernel_##NAME{word, good.get()});                      \
    expect(good[0] == 1 && read(word) == as<TYPE>(10), "bits " #NAME);                  \
    nvshmem_barrier_all();                                                              \
    const int pe = next_pe();                                                           \
    const auto host_was = [](TYPE old, int expected) {                                  \
      expect(old == as<TYPE>(expected), "host bits " #NAME);                            \
    };                                                                                  \
    nvshmem_##NAME##_atomic_xor(word, as<TYPE>(3), pe);                                 \
    host_was(nvshmem_##NAME##_atomic_fetch_or(word, as<TYPE>(4), pe), 9);               \
    nvshmem_##NAME##_atomic_and(word, as<TYPE>(7), pe);                                 \
    host_was(nvshmem_##NAME##_atomic_fetch_xor(word, as<TYPE>(6), pe), 5);              \
    nvshmem_##NAME##_atomic_or(word, as<TYPE>(8), pe);                                  \
    host_was(nvshmem_##NAME##_atomic_fetch_and(word, as<TYPE>(9), pe), 11);             \
    nvshmem_barrier_all();                                                              \
    host_was(read(word), 9);                                                            \
    nvshmem_barrier_all();                                                              \
    nvshmem_free(word);                                                                 \
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

#define CALL_MOVES(ID, TYPE) GDAKIT_CHECK_IF_MINE(check_moves_##ID)
#define CALL_STRIDES(ID, TYPE) GDAKIT_CHECK_IF_MINE(check_strides_##ID)
#define CALL_SIGNALS(ID, TYPE) GDAKIT_CHECK_IF_MINE(check_signals_##ID)
#define CALL_VALUES(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_values_##NAME)
#define CALL_ADDING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_adding_##NAME)
#define CALL_SETTING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_setting_##NAME)
#define CALL_BITS(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_bits_##NAME)
#define CALL_WAITS(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_waits_##NAME)
template <int kPart, int kParts>
void check_all() {
  GDAKIT_NVSHMEM_TYPES(CALL_MOVES)
  GDAKIT_NVSHMEM_TYPES(CALL_STRIDES)
  GDAKIT_NVSHMEM_TYPES(CALL_SIGNALS)
  GDAKIT_NVSHMEM_TYPES(CALL_VALUES)
  GDAKIT_NVSHMEM_SIZES(CALL_MOVES)
  GDAKIT_NVSHMEM_SIZES(CALL_STRIDES)
  GDAKIT_NVSHMEM_SIZES(CALL_SIGNALS)
  GDAKIT_CHECK_IF_MINE(check_moves_mem)
  GDAKIT_CHECK_IF_MINE(check_signals_mem)
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

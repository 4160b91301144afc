// Every collective of NVSHMEM's, for every type, by threads, warps, blocks, on a stream and on the
// host, against a sequential model; and teams, memory and what can be asked for. Run by
// `gdakit run`; exits with 0 if all of them did what they say.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/nvshmem/rank_on_host.h"
#include "tests/nvshmem/where.h"

namespace {

using namespace where;

template <class T>
T value_of(int pe, int i) {
  return T(static_cast<float>(1 + (pe * 3 + i) % 4));
}

// Results of the five forms of a collective: thread, warp, block, stream, host.
template <class T>
struct Forms {
  T* source;
  T* dest;
  std::size_t room;
  static constexpr int kCount = kCountOf<T>;
  static constexpr int kForms = 5;

  static Forms make() {
    const auto n = static_cast<std::size_t>(nvshmem_n_pes());
    Forms forms{static_cast<T*>(nvshmem_malloc(n * kCount * sizeof(T))),
                static_cast<T*>(nvshmem_calloc(kForms * n * kCount, sizeof(T))), n * kCount};
    std::vector<T> values;
    for (int i = 0; i < static_cast<int>(forms.room); ++i) {
      values.push_back(value_of<T>(nvshmem_my_pe(), i));
    }
    write(forms.source, values);
    nvshmem_barrier_all();
    return forms;
  }
  void free() const {
    nvshmem_barrier_all();
    nvshmem_free(source);
    nvshmem_free(dest);
  }
  GDAKIT_HOST_DEVICE T* at(int form) const { return dest + static_cast<std::size_t>(form) * room; }

  // Each form has left `model`.
  void check(const char* what, const std::vector<T>& model) const {
    for (int form = 0; form < kForms; ++form) {
      const std::vector<T> got = read(at(form), model.size());
      expect(std::memcmp(got.data(), model.data(), model.size() * sizeof(T)) == 0, what);
    }
    nvshmem_barrier_all();
    write(dest, std::vector<T>(kForms * room, T(0.0f)));
    nvshmem_barrier_all();
  }
};

template <class T>
std::vector<T> blocks_of_all(int me_block) {
  constexpr int kCount = kCountOf<T>;
  std::vector<T> model;
  for (int pe = 0; pe < nvshmem_n_pes(); ++pe) {
    for (int i = 0; i < kCount; ++i) model.push_back(value_of<T>(pe, me_block * kCount + i));
  }
  return model;
}

template <class T, class Op>
std::vector<T> combined(int first, Op op) {
  std::vector<T> model;
  for (int i = 0; i < kCountOf<T>; ++i) {
    T value = value_of<T>(0, first + i);
    for (int pe = 1; pe < nvshmem_n_pes(); ++pe) value = op(value, value_of<T>(pe, first + i));
    model.push_back(value);
  }
  return model;
}

// check_CALL: calls a collective in its five forms.
#define FORMS_OF(CALL, TYPE, ...)                                                         \
  struct Kernel_##CALL {                                                                  \
    Forms<TYPE> forms;                                                                    \
    int* codes;                                                                           \
    GDAKIT_DEVICE_ONLY void operator()() const {                                          \
      constexpr int kCount = Forms<TYPE>::kCount;                                         \
      const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;                                     \
      const TYPE* const source = forms.source;                                            \
      TYPE* dest = forms.at(0);                                                           \
      int& code = codes[thread_index()];                                                  \
      if (thread_index() == 0) code = nvshmem_##CALL(__VA_ARGS__);                        \
      dest = forms.at(1);                                                                 \
      if (thread_index() < 32) code |= nvshmemx_##CALL##_warp(__VA_ARGS__);               \
      dest = forms.at(2);                                                                 \
      code |= nvshmemx_##CALL##_block(__VA_ARGS__);                                       \
    }                                                                                     \
  };                                                                                      \
  template <int>                                                                          \
  void check_##CALL(const Forms<TYPE>& forms, const std::vector<TYPE>& model) {           \
    constexpr int kCount = Forms<TYPE>::kCount;                                           \
    constexpr unsigned kMany = kThreadsOf<TYPE>;                                          \
    const Shared<int> codes(kMany);                                                       \
    run(#CALL, Kernel_##CALL{forms, codes.get()}, kMany);                                 \
    for (unsigned i = 0; i < kMany; ++i) expect(codes[i] == 0, #CALL " in a kernel");     \
    const nvshmem_team_t team = NVSHMEM_TEAM_WORLD;                                       \
    const TYPE* const source = forms.source;                                              \
    TYPE* dest = forms.at(3);                                                             \
    expect(nvshmemx_##CALL##_on_stream(__VA_ARGS__, nullptr) == 0, #CALL " on a stream"); \
    dest = forms.at(4);                                                                   \
    expect(nvshmem_##CALL(__VA_ARGS__) == 0, #CALL " on the host");                       \
    forms.check(#CALL, model);                                                            \
  }

// Those that move; the last PE is the root.
#define MOVING(NAME, TYPE)                                                                    \
  FORMS_OF(NAME##_fcollect, TYPE, team, dest, source, kCount)                                 \
  FORMS_OF(NAME##_alltoall, TYPE, team, dest, source, kCount)                                 \
  FORMS_OF(NAME##_broadcast, TYPE, team, dest, source, kCount, nvshmem_n_pes() - 1)           \
  template <int kPart>                                                                        \
  void check_moving_##NAME() {                                                                \
    const auto forms = Forms<TYPE>::make();                                                   \
    constexpr int kCount = Forms<TYPE>::kCount;                                               \
    const std::vector<TYPE> all = blocks_of_all<TYPE>(0);                                     \
    check_##NAME##_fcollect<kPart>(forms, all);                                               \
    check_##NAME##_alltoall<kPart>(forms, blocks_of_all<TYPE>(nvshmem_my_pe()));              \
    check_##NAME##_broadcast<kPart>(forms, std::vector<TYPE>(all.end() - kCount, all.end())); \
    forms.free();                                                                             \
  }
GDAKIT_NVSHMEM_TYPES(MOVING)

#define REDUCTION(NAME, TYPE, CALL)                                  \
  FORMS_OF(NAME##_##CALL##_reduce, TYPE, team, dest, source, kCount) \
  FORMS_OF(NAME##_##CALL##_reducescatter, TYPE, team, dest, source, kCount)
#define CHECK_REDUCTION(NAME, TYPE, CALL, OP)                                    \
  check_##NAME##_##CALL##_reduce<kPart>(forms, combined<TYPE>(0, gdakit::OP{})); \
  check_##NAME##_##CALL##_reducescatter<kPart>(                                  \
      forms, combined<TYPE>(nvshmem_my_pe() * forms.kCount, gdakit::OP{}));
#define SUMMING(NAME, TYPE)                 \
  REDUCTION(NAME, TYPE, sum)                \
  REDUCTION(NAME, TYPE, prod)               \
  REDUCTION(NAME, TYPE, min)                \
  REDUCTION(NAME, TYPE, max)                \
  template <int kPart>                      \
  void check_summing_##NAME() {             \
    const auto forms = Forms<TYPE>::make(); \
    CHECK_REDUCTION(NAME, TYPE, sum, Sum)   \
    CHECK_REDUCTION(NAME, TYPE, prod, Prod) \
    CHECK_REDUCTION(NAME, TYPE, min, Min)   \
    CHECK_REDUCTION(NAME, TYPE, max, Max)   \
    forms.free();                           \
  }
GDAKIT_NVSHMEM_SUMMED_TYPES(SUMMING)
#define BITWISE(NAME, TYPE)                 \
  REDUCTION(NAME, TYPE, and)                \
  REDUCTION(NAME, TYPE, or)                 \
  REDUCTION(NAME, TYPE, xor)                \
  template <int kPart>                      \
  void check_bitwise_##NAME() {             \
    const auto forms = Forms<TYPE>::make(); \
    CHECK_REDUCTION(NAME, TYPE, and, And)   \
    CHECK_REDUCTION(NAME, TYPE, or, Or)     \
    CHECK_REDUCTION(NAME, TYPE, xor, Xor)   \
    forms.free();                           \
  }
GDAKIT_NVSHMEM_BITWISE_TYPES(BITWISE)

FORMS_OF(fcollectmem, unsigned char, team, dest, source, kCount)
FORMS_OF(alltoallmem, unsigned char, team, dest, source, kCount)
FORMS_OF(broadcastmem, unsigned char, team, dest, source, kCount, 0)
template <int kPart>
void check_bytes() {
  const auto forms = Forms<unsigned char>::make();
  constexpr int kCount = Forms<unsigned char>::kCount;
  const auto all = blocks_of_all<unsigned char>(0);
  check_fcollectmem<kPart>(forms, all);
  check_alltoallmem<kPart>(forms, blocks_of_all<unsigned char>(nvshmem_my_pe()));
  check_broadcastmem<kPart>(forms, std::vector<unsigned char>(all.begin(), all.begin() + kCount));
  forms.free();
}

struct Meetings {
  int* codes;
  GDAKIT_DEVICE_ONLY void operator()() const {
    int& code = codes[thread_index()];
    if (thread_index() == 0) {
      code |= nvshmem_barrier(NVSHMEM_TEAM_WORLD) | nvshmem_team_sync(NVSHMEM_TEAM_WORLD);
      code |= nvshmem_sync(NVSHMEM_TEAM_WORLD);
      nvshmem_barrier_all();
      nvshmem_sync_all();
      nvshmem_fence();
    }
    if (thread_index() < 32) {
      code |= nvshmemx_barrier_warp(NVSHMEM_TEAM_WORLD) | nvshmemx_sync_warp(NVSHMEM_TEAM_WORLD);
      code |= nvshmemx_team_sync_warp(NVSHMEM_TEAM_WORLD);
      nvshmemx_barrier_all_warp();
      nvshmemx_sync_all_warp();
    }
    code |= nvshmemx_barrier_block(NVSHMEM_TEAM_WORLD) | nvshmemx_sync_block(NVSHMEM_TEAM_WORLD);
    code |= nvshmemx_team_sync_block(NVSHMEM_TEAM_WORLD);
    nvshmemx_barrier_all_block();
    nvshmemx_sync_all_block();
    code |= nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) != nvshmem_n_pes();
    code |= nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, 0, NVSHMEM_TEAM_WORLD);
    code |= nvshmem_barrier(NVSHMEM_TEAM_INVALID) == 0;  // refused
  }
};

void check_meetings() {
  for (const unsigned threads : {kThreads, kTwoWarps}) {
    const Shared<int> codes(threads);
    // The refused call is in the report.
    const gdakit::Result<void> ran = launch(Meetings{codes.get()}, threads);
    expect(!ran, "a bad team is reported");
    gdakit::nvshmem::context("names").clear_reports();
    for (unsigned i = 0; i < threads; ++i) expect(codes[i] == 0, "barriers and syncs");
  }
  nvshmemx_barrier_all_on_stream(nullptr);
  nvshmemx_sync_all_on_stream(nullptr);
  expect(nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, nullptr) == 0, "barrier on a stream");
  expect(nvshmemx_sync_on_stream(NVSHMEM_TEAM_WORLD, nullptr) == 0, "sync on a stream");
  expect(nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, nullptr) == 0, "team_sync on a stream");
  expect(nvshmem_sync(NVSHMEM_TEAM_WORLD) == 0, "sync on the host");
  nvshmem_sync_all();
  nvshmem_fence();
  nvshmem_quiet();
}

// What a call has said in its status, later calls do not say again.
void check_that_errors_end() {
  auto* const words = static_cast<int*>(nvshmem_calloc(2, sizeof(int)));
  expect(nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, words, words + 1, 1, 99) != 0,
         "a broadcast from a root that is not there");
  expect(nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, words, words + 1, 1, 0) == 0,
         "a broadcast after one that was refused");
  expect(nvshmem_team_sync(NVSHMEM_TEAM_INVALID) != 0, "a sync of no team");
  expect(nvshmem_int64_fcollect(NVSHMEM_TEAM_WORLD, nullptr, nullptr, (size_t{1} << 61) + 1) != 0,
         "an fcollect of more bytes than can be counted");
  nvshmem_quiet();
  nvshmem_barrier_all();
  nvshmem_free(words);
}

void check_teams() {
  const int n = nvshmem_n_pes();
  const int me = nvshmem_my_pe();
  nvshmem_team_t even = 7;
  expect(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &even) == 0,
         "split_strided");
  expect((even == NVSHMEM_TEAM_INVALID) == (me % 2 == 1), "members of the split");
  if (even != NVSHMEM_TEAM_INVALID) {
    expect(nvshmem_team_my_pe(even) == me / 2 && nvshmem_team_n_pes(even) == (n + 1) / 2,
           "numbers in the team");
    expect(nvshmem_team_translate_pe(even, me / 2, NVSHMEM_TEAM_WORLD) == me, "translate_pe");
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_get_config(even, &config);
    expect(config.num_contexts == 0, "config");
    expect(nvshmem_barrier(even) == 0, "barrier of the team");
    nvshmem_team_destroy(even);
    expect(nvshmem_team_my_pe(even) == -1, "a team that was destroyed");
  }
  nvshmem_team_t own_half = 7;  // as DeepEP makes its teams: each PE names those like itself
  expect(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, me % 2, 2, (n + 1 - me % 2) / 2, nullptr, 0,
                                    &own_half) == 0,
         "split_strided of another team on each PE");
  expect(nvshmem_team_n_pes(own_half) == (n + 1 - me % 2) / 2 &&
             nvshmem_team_my_pe(own_half) == me / 2 && nvshmem_barrier(own_half) == 0,
         "the team of PEs like this one");
  nvshmem_team_destroy(own_half);
  nvshmem_team_t x = 7;
  nvshmem_team_t y = 7;
  expect(nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y) == 0,
         "split_2d");
  expect(nvshmem_team_my_pe(x) == me % 2 && nvshmem_team_my_pe(y) == me / 2, "rows and columns");
  expect(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, n, 1, 1, nullptr, 0, &even) != 0 &&
             even == NVSHMEM_TEAM_INVALID,
         "a split that cannot be");
  expect(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) == rank_on_this_host(), "the team of the node");
}

// The members of the shared team, and nobody else, have addresses, at which lies what is theirs.
void check_addresses(bool direct) {
  const int n = nvshmem_n_pes();
  const int me = nvshmem_my_pe();
  auto* const word = static_cast<int*>(nvshmem_malloc(sizeof(int)));
  write(word, 100 + me);
  nvshmem_barrier_all();
  for (int pe = 0; pe < n; ++pe) {
    auto* const there = static_cast<int*>(nvshmem_ptr(word, pe));
    expect((there != nullptr) == (direct || pe == me), "who has an address");
    if (there != nullptr) expect(read(there) == 100 + pe, "what lies at the address");
  }
  expect(nvshmem_team_n_pes(NVSHMEM_TEAM_SHARED) == (direct ? n : 1), "the shared team");
  expect(nvshmem_ptr(&direct, me) == nullptr, "an address outside the heap");
  expect(nvshmemx_mc_ptr(NVSHMEM_TEAM_SHARED, word) == nullptr, "no multicast");
  nvshmem_barrier_all();
  nvshmem_free(word);
}

// Once calloc has returned, others write there, whatever this PE does meanwhile.
void check_that_zeroing_is_over() {
  auto* const word = static_cast<int*>(nvshmem_calloc(1, sizeof(int)));
  const int me = nvshmem_my_pe();
  if (me % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  nvshmem_int_p(word, 7, (me + 1) % nvshmem_n_pes());
  nvshmem_barrier_all();
  expect(nvshmem_int_g(word, me) == 7, "a word that another PE wrote right after calloc");
  nvshmem_barrier_all();
  nvshmem_free(word);
}

void check_memory() {
  expect(nvshmem_malloc(0) == nullptr, "malloc of nothing");
  nvshmem_free(nullptr);
  auto* const aligned = static_cast<char*>(nvshmem_align(4096, 100));
  expect(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0, "align");
  expect(nvshmem_ptr(aligned, nvshmem_my_pe()) == aligned, "ptr to this PE");
  nvshmem_free(aligned);
  expect(nvshmem_align(3, 100) == nullptr, "align to what is no power of two");
  expect(nvshmem_calloc(~std::size_t{0}, 2) == nullptr, "calloc of too much");
  static char buffer[4096];
  expect(nvshmemx_buffer_register(buffer, sizeof(buffer)) == 0, "buffer_register");
  auto* const dest = static_cast<char*>(nvshmem_malloc(16));
  buffer[3] = static_cast<char>(nvshmem_my_pe() + 1);
  nvshmem_putmem(dest, buffer, 4, (nvshmem_my_pe() + 1) % nvshmem_n_pes());
  nvshmem_barrier_all();
  expect(read(dest + 3) == (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes() + 1,
         "put from a registered buffer");
  expect(nvshmemx_buffer_unregister(buffer) == 0, "buffer_unregister");
  expect(nvshmemx_buffer_unregister(buffer) != 0, "buffer_unregister, again");
  expect(nvshmemx_buffer_register(buffer, 1024) == 0 &&
             nvshmemx_buffer_register(buffer + 2048, 1024) == 0,
         "buffer_register of two");
  nvshmemx_buffer_unregister_all();
  expect(nvshmemx_buffer_unregister(buffer) != 0 && nvshmemx_buffer_unregister(buffer + 2048) != 0,
         "buffer_unregister_all");
  nvshmem_free(dest);
}

// What is there to be compiled, and says when it is called that it is not.
void check_refused() {
  expect(nvshmemx_cumodule_init(nullptr) == NVSHMEMX_ERROR_NOT_SUPPORTED, "cumodule_init");
  expect(nvshmemx_cumodule_finalize(nullptr) == NVSHMEMX_ERROR_NOT_SUPPORTED, "cumodule_finalize");
  expect(nvshmemx_culibrary_init(nullptr) == NVSHMEMX_ERROR_NOT_SUPPORTED, "culibrary_init");
  expect(nvshmemx_culibrary_finalize(nullptr) == NVSHMEMX_ERROR_NOT_SUPPORTED,
         "culibrary_finalize");
  char buffer[8];
  expect(nvshmemx_buffer_register_symmetric(buffer, 8, 0) == nullptr, "register_symmetric");
  expect(nvshmemx_buffer_register_symmetric_at_preferred_address(buffer, 8, buffer, 0) == nullptr,
         "register_symmetric at an address");
  expect(nvshmemx_buffer_unregister_symmetric(buffer, 8) == NVSHMEMX_ERROR_NOT_SUPPORTED,
         "unregister_symmetric");
}

// Shared memory that a kernel lends, which nothing needs.
struct LendKernel {
  GDAKIT_DEVICE_ONLY void operator()() const {
    char memory[16];
    nvshmemx_give_smem(memory, sizeof(memory));
    nvshmemx_release_smem();
  }
};
void check_lending() {
  for (const auto amount :
       {NVSHMEMX_SMEM_RECOMMENDED, NVSHMEMX_SMEM_MINIMUM, NVSHMEMX_SMEM_BARRIERS_ONLY}) {
    expect(nvshmemx_ask_smem(amount) == 0, "ask_smem");
  }
  run("give_smem and release_smem", LendKernel{});
}

#ifdef CUDART_VERSION
// Pairs of which every PE but the last has the largest x, once; the smallest y decides.
struct MaxLocKernel {
  double2* dest;
  const double2* source;
  int* codes;
  GDAKIT_DEVICE_ONLY void operator()() const {
    codes[thread_index()] =
        nvshmemx_double2_maxloc_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, kCountOf<double2>);
  }
};
void check_maxloc() {
  constexpr int kCount = kCountOf<double2>;
  auto* const source = static_cast<double2*>(nvshmem_malloc(kCount * sizeof(double2)));
  auto* const dest = static_cast<double2*>(nvshmem_calloc(kCount, sizeof(double2)));
  const int me = nvshmem_my_pe();
  const int n = nvshmem_n_pes();
  const double x = me + 1 < n || n == 1 ? 7 : -7;
  for (int i = 0; i < kCount; ++i) write(source + i, double2{x, double((me + i) % n)});
  const Shared<int> codes(kThreads);
  nvshmem_barrier_all();
  run("double2_maxloc", MaxLocKernel{dest, source, codes.get()});
  for (int i = 0; i < kCount; ++i) {
    int y = n;
    for (int pe = 0; pe < (n == 1 ? 1 : n - 1); ++pe) y = std::min(y, (pe + i) % n);
    const double2 pair = read(dest + i);
    expect(pair.x == 7 && pair.y == y, "double2_maxloc's pair");
  }
  for (unsigned i = 0; i < kThreads; ++i) expect(codes[i] == 0, "double2_maxloc's status");
  nvshmem_barrier_all();
  nvshmem_free(source);
  nvshmem_free(dest);
}
#else
void check_maxloc() {}
#endif

// What is the same everywhere, asked in a kernel and on the host.
struct Answers {
  int thread_level, major, minor, vendor[3];
  char name[NVSHMEM_MAX_NAME_LEN];

  GDAKIT_HOST_DEVICE void ask() {
    nvshmem_query_thread(&thread_level);
    nvshmem_info_get_version(&major, &minor);
    nvshmemx_vendor_get_version_info(&vendor[0], &vendor[1], &vendor[2]);
    nvshmem_info_get_name(name);
  }
  void check() const {
    expect(thread_level == NVSHMEM_THREAD_SERIALIZED, "query_thread");
    expect(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION, "info_get_version");
    expect(vendor[0] * 10000 + vendor[1] * 100 + vendor[2] == NVSHMEM_VENDOR_VERSION,
           "vendor_get_version_info");
    expect(std::strcmp(name, NVSHMEM_VENDOR_STRING) == 0, "info_get_name");
  }
};
struct AnswersKernel {
  Answers* answers;
  GDAKIT_DEVICE_ONLY void operator()() const { answers->ask(); }
};
void check_answers() {
  Answers on_host;
  on_host.ask();
  on_host.check();
  const Shared<Answers> in_kernel(1);
  run("what can be asked for", AnswersKernel{in_kernel.get()}, 1);
  in_kernel[0].check();
}

// What the attributes of an init keep.
void check_attributes() {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  expect(attributes.mpi_comm == nullptr && attributes.args.uid_args.id == nullptr &&
             attributes.args.cuda_device_id == -1,
         "attributes as they begin");
  int communicator = 0;
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  expect(nvshmemx_set_attr_mpi_comm_args(&communicator, &attributes) == 0 &&
             nvshmemx_set_attr_uniqueid_args(2, 3, &id, &attributes) == 0,
         "setting attributes");
  const nvshmemx_uniqueid_args_t& args = attributes.args.uid_args;
  expect(attributes.mpi_comm == &communicator && args.id == &id && args.myrank == 2 &&
             args.nranks == 3,
         "attributes that were set");
}

#define CALL_MOVING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_moving_##NAME)
#define CALL_SUMMING(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_summing_##NAME)
#define CALL_BITWISE(NAME, TYPE) GDAKIT_CHECK_IF_MINE(check_bitwise_##NAME)
template <int kPart, int kParts>
void check_all() {
  GDAKIT_NVSHMEM_TYPES(CALL_MOVING)
  GDAKIT_NVSHMEM_SUMMED_TYPES(CALL_SUMMING)
  GDAKIT_NVSHMEM_BITWISE_TYPES(CALL_BITWISE)
  GDAKIT_CHECK_IF_MINE(check_bytes)
}

}  // namespace

// collectives_pe [direct]: whether PEs reach each other without the NIC.
int main(int argc, char** argv) {
  const bool direct = argc == 2 && std::strcmp(argv[1], "direct") == 0;
  expect(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED, "status before init");
  expect(std::strcmp(nvshmemx_status_string(NVSHMEMX_SUCCESS), "success") == 0 &&
             std::strcmp(nvshmemx_status_string(77), "unknown status") == 0,
         "statuses in words");
  nvshmem_init();
  int threads = -1;  // the second is counted
  expect(nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &threads) == 0 &&
             threads == NVSHMEM_THREAD_SERIALIZED,
         "init_thread");
  expect(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED, "status after init");
  check_all<GDAKIT_TEST_PART, GDAKIT_TEST_PARTS>();
  check_meetings();
  check_that_errors_end();
  check_teams();
  check_addresses(direct);
  check_memory();
  check_that_zeroing_is_over();
  check_answers();
  check_attributes();
  check_refused();
  check_lending();
  check_maxloc();
  nvshmem_finalize();
  nvshmem_finalize();
  expect(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED, "status after finalize");
  std::printf("%s\n", failures == 0 ? "all names did what they say" : "some names failed");
  return failures == 0 ? 0 : 1;
}

// by_symbol_pe: names of NVSHMEM's as symbols of the library, without its headers, as programs in C
// and other languages call them. 0 if all values are right.
#include <cstddef>
#include <cstdio>

extern "C" {
void nvshmem_init();
void nvshmem_finalize();
int nvshmem_my_pe();
int nvshmem_n_pes();
void* nvshmem_malloc(std::size_t size);
void nvshmem_free(void* ptr);
void nvshmem_barrier_all();
void nvshmem_int_p(int* dest, int value, int pe);
int nvshmem_int_g(const int* source, int pe);
int nvshmem_int_atomic_fetch_add(int* dest, int value, int pe);
int nvshmem_int_sum_reduce(int team, int* dest, const int* source, std::size_t nreduce);
void nvshmemx_double_put_on_stream(double* dest, const double* source, std::size_t nelems, int pe,
                                   void* stream);
void nvshmemx_double_p_on_stream(double* dest, double value, int pe, void* stream);
double nvshmem_double_g(const double* source, int pe);
void nvshmemx_quiet_on_stream(void* stream);
}

namespace {

constexpr int kTeamWorld = 0;

bool is(const char* what, double value, double expected) {
  if (value != expected) std::fprintf(stderr, "%s: %g, not %g\n", what, value, expected);
  return value == expected;
}

bool go_round() {
  const int me = nvshmem_my_pe();
  const int pes = nvshmem_n_pes();
  const int next = (me + 1) % pes;
  int* const ints = static_cast<int*>(nvshmem_malloc(3 * sizeof(int)));
  double* const doubles = static_cast<double*>(nvshmem_malloc(2 * sizeof(double)));
  nvshmem_int_p(&ints[0], me, next);
  nvshmem_int_p(&ints[1], 100, me);
  nvshmemx_double_p_on_stream(&doubles[0], me + 0.5, me, nullptr);
  nvshmemx_double_put_on_stream(&doubles[1], &doubles[0], 1, next, nullptr);
  nvshmemx_quiet_on_stream(nullptr);
  nvshmem_barrier_all();
  const int before = (me + pes - 1) % pes;
  bool good = is("p", nvshmem_int_g(&ints[0], me), before);
  good &= is("put_on_stream", nvshmem_double_g(&doubles[1], me), before + 0.5);
  good &= is("fetch_add", nvshmem_int_atomic_fetch_add(&ints[1], me, next), 100);
  nvshmem_barrier_all();
  good &= nvshmem_int_sum_reduce(kTeamWorld, &ints[2], &ints[1], 1) == 0;
  good &= is("sum", nvshmem_int_g(&ints[2], me), 100 * pes + pes * (pes - 1) / 2);
  nvshmem_free(doubles);
  nvshmem_free(ints);
  return good;
}

}  // namespace

int main() {
  nvshmem_init();
  const bool good = go_round();
  nvshmem_finalize();
  return good ? 0 : 1;
}

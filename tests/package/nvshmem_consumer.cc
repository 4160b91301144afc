// The smallest user of NVSHMEM's names: a PE alone, with a kernel on the emulator.
#include <cstdio>
#include <gdakit/nvshmem/emulate.h>
#include <nvshmem.h>
#include <nvshmemx.h>

struct Tell {
  int* destination;
  void operator()() const { nvshmem_int_p(destination, 42, nvshmem_my_pe()); }
};

int main() {
  nvshmem_init();
  auto* const destination = static_cast<int*>(nvshmem_malloc(sizeof(int)));
  const gdakit::Result<void> ran = gdakit::nvshmem::emulate(Tell{destination}, {1, 1});
  nvshmem_barrier_all();
  const bool good = ran && *destination == 42 && nvshmem_n_pes() == 1;
  nvshmem_free(destination);
  nvshmem_finalize();
  if (!good) std::fprintf(stderr, "the kernel's number did not arrive\n");
  return good ? 0 : 1;
}

// exit_pe STATUS host|kernel: the last PE ends the job with STATUS, on the host or in a kernel,
// while the others wait there for what does not come. What it has printed before is not lost.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nvshmem/emulate.h"

struct EndTheJob {
  std::uint64_t* word;
  int status;
  void operator()() const {
    if (nvshmem_my_pe() + 1 == nvshmem_n_pes()) nvshmem_global_exit(status);
    nvshmem_signal_wait_until(word, NVSHMEM_CMP_EQ, 1);
  }
};

int main(int, char** arguments) {
  const int status = std::atoi(arguments[1]);
  nvshmem_init();
  if (nvshmem_my_pe() + 1 == nvshmem_n_pes()) std::printf("the last words");
  if (std::strcmp(arguments[2], "host") == 0) {
    if (nvshmem_my_pe() + 1 == nvshmem_n_pes()) nvshmem_global_exit(status);
    nvshmem_barrier_all();
    return 1;
  }
  auto* const word = static_cast<std::uint64_t*>(nvshmem_calloc(1, sizeof(std::uint64_t)));
  const auto ended = gdakit::nvshmem::emulate(EndTheJob{word, status}, {1, 1});
  return ended ? 0 : 1;
}

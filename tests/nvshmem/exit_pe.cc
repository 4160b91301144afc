// One PE ends the job in a kernel, while the others wait in theirs for what does not come. Run by
// `gdakit run`.
#include "nvshmem/emulate.h"

struct EndTheJob {
  std::uint64_t* word;
  void operator()() const {
    if (nvshmem_my_pe() + 1 == nvshmem_n_pes()) nvshmem_global_exit(7);
    nvshmem_signal_wait_until(word, NVSHMEM_CMP_EQ, 1);
  }
};

int main() {
  nvshmem_init();
  auto* const word = static_cast<std::uint64_t*>(nvshmem_calloc(1, sizeof(std::uint64_t)));
  const auto ended = gdakit::nvshmem::emulate(EndTheJob{word}, {1, 1});
  return ended ? 0 : 1;
}

// A program with kernels of its own and in two shared libraries, each of which includes nvshmem.h:
// one that it is linked with, and one that it loads after nvshmem_init and unloads. All act as the
// same PE on the same heap.
//
//   pieces_pe LIBRARY    the library to load
#include <dlfcn.h>

#include "tests/nvshmem/pieces/piece.h"

extern "C" void tell_next(int* words);  // of the library that this program is linked with

namespace {

using where::expect;

constexpr int kPieces = 3;  // the program, the linked library, the loaded one

void tell_next_by_loaded(const char* path, int* words) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return;
  }
  // Looked up in the library alone: the linked one has a function of that name, too.
  const auto tell = reinterpret_cast<void (*)(int*)>(dlsym(library, "tell_next"));
  if (tell != nullptr) tell(words);
  expect(dlclose(library) == 0, "dlclose");
}

void check_round(const char* path) {
  auto* const words = static_cast<int*>(nvshmem_calloc(kPieces, sizeof(int)));
  tell_next_as(0, words);
  tell_next(words);
  tell_next_by_loaded(path, words);
  nvshmem_barrier_all();
  const int last = (nvshmem_my_pe() + nvshmem_n_pes() - 1) % nvshmem_n_pes();
  const std::vector<int> got = where::read(words, kPieces);
  for (int piece = 0; piece < kPieces; ++piece) {
    expect(got[piece] == told(piece, last), piece == 0   ? "the program's kernel"
                                            : piece == 1 ? "the linked library's kernel"
                                                         : "the loaded library's kernel");
  }
  nvshmem_barrier_all();
  nvshmem_free(words);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "%s: give the path of the library to load\n", argv[0]);
    return 2;
  }
  nvshmem_init();
  check_round(argv[1]);
  check_round(argv[1]);  // unloaded and loaded again
  nvshmem_finalize();
  if (where::failures == 0) std::printf("all pieces are one PE\n");
  return where::failures == 0 ? 0 : 1;
}

// What the program and each of its shared libraries do by a kernel of their own.
#pragma once

#include "tests/nvshmem/where.h"

namespace {  // each library has its own copy, as users' libraries have their own kernels

GDAKIT_HOST_DEVICE int told(int piece, int pe) { return 100 * (piece + 1) + pe; }

struct TellNext {
  int piece;
  int* words;

  GDAKIT_DEVICE_ONLY void operator()() const {
    const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    nvshmem_int_p(words + piece, told(piece, nvshmem_my_pe()), next);
    nvshmem_quiet();
  }
};

// words[piece] of the next PE names this PE and the piece, then.
void tell_next_as(int piece, int* words) { where::run("a kernel", TellNext{piece, words}, 1); }

}  // namespace

// A shared library with a kernel of its own. A program has several of them, and one PE: see
// pieces_pe.cc. GDAKIT_TEST_PIECE is which one.
#include "tests/nvshmem/pieces/piece.h"

extern "C" void tell_next(int* words) { tell_next_as(GDAKIT_TEST_PIECE, words); }

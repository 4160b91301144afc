// The same shared library with a kernel for a GPU.
#include "tests/nvshmem/pieces/piece.cc"

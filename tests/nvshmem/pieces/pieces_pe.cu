// The same program with a kernel for a GPU.
#include "tests/nvshmem/pieces/pieces_pe.cc"

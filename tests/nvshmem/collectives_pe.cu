// NVSHMEM's collectives in kernels on a GPU: the tests of the emulator, compiled by nvcc.
#include "tests/nvshmem/collectives_pe.cc"

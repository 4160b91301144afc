// NVSHMEM's names in kernels on a GPU: the tests of the emulator, compiled by nvcc.
#include "tests/nvshmem/names_pe.cc"

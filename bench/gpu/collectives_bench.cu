// What collectives cost on a GPU: the bench of the emulator, compiled by nvcc.
#include "bench/collectives_bench.cc"

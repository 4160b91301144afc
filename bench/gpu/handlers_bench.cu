// What posting by the GPU's own threads gains, on a GPU: the bench of the emulator, compiled by
// nvcc.
#include "bench/handlers_bench.cc"

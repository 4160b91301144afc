// Reductions of every type on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/reduce_types_test.cc"

// Collective operations on a million elements on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/collectives_large_test.cc"

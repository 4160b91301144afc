// Atomics on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/atomics_test.cc"

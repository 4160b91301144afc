// How batches end, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/batches_test.cc"

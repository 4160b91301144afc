// Collective operations on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/collectives_test.cc"

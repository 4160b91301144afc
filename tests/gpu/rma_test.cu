// Put and get on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/rma_test.cc"

// Direct peers on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/direct_test.cc"

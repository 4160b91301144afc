// Stalls that end, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/stalls_test.cc"

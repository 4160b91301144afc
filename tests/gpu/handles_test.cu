// What handles remember, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/handles_test.cc"

// A thousand of each collective operation on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/collectives_rounds_test.cc"

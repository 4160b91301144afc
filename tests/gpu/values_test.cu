// Values anywhere in the heap, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/values_test.cc"

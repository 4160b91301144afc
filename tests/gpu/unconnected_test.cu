// PEs without a queue on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/unconnected_test.cc"

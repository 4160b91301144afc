// Queues of DC on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/dc_test.cc"

// Queues on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/queues_test.cc"

// Locks on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/lock_test.cc"

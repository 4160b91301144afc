// Every atomic on every kind of type on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/amo_test.cc"

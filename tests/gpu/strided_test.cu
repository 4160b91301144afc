// Strided put and get on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/strided_test.cc"

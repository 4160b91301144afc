// Crowds on a GPU: the tests of the CPU, compiled by nvcc, in a GPU's sizes.
#include "tests/device/crowd_test.cc"

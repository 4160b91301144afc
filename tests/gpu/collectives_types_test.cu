// Collective operations on elements of every size on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/collectives_types_test.cc"

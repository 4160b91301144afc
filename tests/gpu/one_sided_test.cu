// Transfers of every type and kind on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/one_sided_test.cc"

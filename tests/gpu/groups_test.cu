// Groups of threads on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/groups_test.cc"

// Teams on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/teams_test.cc"

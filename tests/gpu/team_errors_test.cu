// Teams that are refused or fail, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/team_errors_test.cc"

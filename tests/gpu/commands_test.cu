// Handlers on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/commands_test.cc"

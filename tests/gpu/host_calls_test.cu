// The host's calls on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/host_calls/host_calls_test.cc"

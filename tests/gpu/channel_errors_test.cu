// Channels that are used wrongly, on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/channel_errors_test.cc"

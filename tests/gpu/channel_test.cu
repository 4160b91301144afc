// Channels on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/channel_test.cc"

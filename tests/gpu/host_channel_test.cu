// Channels that host threads drive, where kernels run on a GPU: the tests of the CPU, compiled by
// nvcc.
#include "tests/host_calls/host_channel_test.cc"

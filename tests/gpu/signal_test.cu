// Signals, waits and barriers on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/signal_test.cc"

// Waiting for words and asking for them on a GPU: the tests of the CPU, compiled by nvcc.
#include "tests/device/words_test.cc"

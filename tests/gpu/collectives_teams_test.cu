// Collective operations on teams of some of the PEs, on a GPU: the tests of the CPU, compiled by
// nvcc.
#include "tests/device/collectives_teams_test.cc"

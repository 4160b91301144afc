// Atomics on a GPU: the tests of the CPU, compiled by nvcc.
#include "device/machine_concept.h"
#include "tests/device/atomics_test.cc"

static_assert(gdakit::MachineFor<gdakit::CudaMachine, gdakit::order::RelaxedSystem>);

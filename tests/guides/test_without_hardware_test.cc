// The test of docs/test-without-hardware.md.
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "gdakit.h"

namespace {

#include <guides/test-without-hardware-1.inc>

}  // namespace

// What stands for a program of GPU tests that was checked and not built, as there is no GPU:
// needs_gpu.cu skips the test and says why, or fails it if there is one now.
#include <gtest/gtest.h>

TEST(UnbuiltProgram, RunsNothing) { FAIL() << "needs_gpu.cu should have ended this test"; }

// Tests that need a GPU: skipped, by name and with the reason, where there is none.
#pragma once

#include "core/host/gpu/gpu.h"
#include "tests/support/job.h"

namespace gdakit::test {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const GpuReport report = report_gpus();
    if (report.gpus.empty()) GTEST_SKIP() << report.sentence;
  }
};

}  // namespace gdakit::test

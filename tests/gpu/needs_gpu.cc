// Skips every test of a program, by name and with the reason, on a machine without a GPU. Linked
// into each of the GPU's test programs.
#include <gtest/gtest.h>

#include "core/host/gpu.h"

namespace gdakit {
namespace {

class NeedsGpu final : public testing::Environment {
 public:
  void SetUp() override {
    const GpuReport report = report_gpus();
    if (report.gpus.empty()) GTEST_SKIP() << "no GPU: " << report.sentence;
  }
};

const auto* const needs_gpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace
}  // namespace gdakit

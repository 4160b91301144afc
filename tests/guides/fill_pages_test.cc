// The program of docs/fill-pages.md.
#include <guides/fill-pages-1.inc>
#include <guides/fill-pages-2.inc>
#include <guides/fill-pages-3.inc>
#include <guides/fill-pages-4.inc>
#include <string>

#include <gtest/gtest.h>

namespace {

TEST(FillPages, EveryPageIsFilled) {
  gdakit::Options options;
  options.device = gdakit::DeviceChoice::cpu;
  const gdakit::Result<void> done = gdakit::run_in_process(2, options, run_pe);
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace

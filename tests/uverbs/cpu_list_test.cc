// Sets of CPUs, as text.
#include "backends/softnic/uverbs/cpu_list.h"

#include <fstream>

#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

TEST(UverbsCpuList, BecomesAMaskOfWords) {
  EXPECT_EQ(cpu_mask("0"), "1");
  EXPECT_EQ(cpu_mask("0-1"), "3");
  EXPECT_EQ(cpu_mask("0-1,4"), "13");
  EXPECT_EQ(cpu_mask("0-31"), "ffffffff");
  EXPECT_EQ(cpu_mask("0-63"), "ffffffff,ffffffff");
  EXPECT_EQ(cpu_mask("2,33"), "2,00000004");
  EXPECT_EQ(cpu_mask("64"), "1,00000000,00000000");
}

TEST(UverbsCpuList, WhatIsNoListIsReadAsFarAsItIsOne) {
  for (const char* const text : {"", "x", "-", "4294967295", "99999999999", "7-"}) {
    EXPECT_EQ(cpu_mask(text), "0") << text;
  }
  EXPECT_EQ(cpu_mask("3,x"), "8");
  EXPECT_EQ(cpu_mask("5-2"), "0");
}

TEST(UverbsCpuList, IsTheHosts) {
  std::string list;
  std::ifstream("/sys/devices/system/cpu/online") >> list;
  if (list.empty()) GTEST_SKIP() << "the system does not tell which CPUs are online";
  EXPECT_EQ(online_cpus(), list);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

// `gdakit run --pcap`: a capture of each PE's NIC, however its packets travel.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/job/launched.h"
#include "tests/job/variable.h"
#include "tests/roce/tshark.h"

namespace gdakit::testing_job {
namespace {

using softnic::roce::test::kNoTshark;
using softnic::roce::test::read_by_tshark;
using softnic::roce::test::tshark_is_installed;
using testing::HasSubstr;

// How payload travels: GDAKIT_PAYLOAD, or UDP.
class Pcap : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string capture(int pe) const { return folder_ + "/pe" + std::to_string(pe) + ".pcapng"; }

  const std::string folder_ =
      testing::TempDir() + "gdakit-pcap-" + std::to_string(::getpid()) + "/made";

 private:
  static bool over_udp() { return GetParam() == std::string("udp"); }

  Variable device_{"GDAKIT_DEVICE", "cpu"};
  Variable way_{over_udp() ? "GDAKIT_NIC_ADDRESS" : "GDAKIT_PAYLOAD",
                over_udp() ? "127.0.0.0/8" : GetParam()};
};

TEST_P(Pcap, OfEachPeIsReadByTshark) {
  const Outcome job = gdakit({"run", "-n", "2", "--pcap", folder_, GDAKIT_TRAFFIC_PE, "2"});
  ASSERT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  for (const int pe : {0, 1}) {
    EXPECT_GT(std::filesystem::file_size(capture(pe)), 4 * 80'000u);  // bytes of puts and gets
  }
  if (!tshark_is_installed()) GTEST_SKIP() << kNoTshark;
  for (const int pe : {0, 1}) {
    const auto rows = read_by_tshark(capture(pe), {"udp.length", "_ws.malformed"});
    EXPECT_GT(rows.size(), 80u);
    for (const auto& row : rows) {
      EXPECT_NE(row[0], "");
      EXPECT_EQ(row[1], "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Pcap, testing::Values("direct", "host", "udp"),
                         [](const auto& test) { return std::string(test.param); });

TEST(PcapFolder, ThatCannotBeMadeIsSaid) {
  const Outcome job = gdakit({"run", "-n", "1", "--pcap", "/dev/null/x", "true"});
  EXPECT_EQ(job.status, 1);
  EXPECT_THAT(job.errors, HasSubstr("--pcap: /dev/null/x cannot be made: Not a directory"));
}

}  // namespace
}  // namespace gdakit::testing_job

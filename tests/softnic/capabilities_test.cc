// capabilities.csv: its fields are those of the reference table, its values fit them, and it is
// what was compiled.
#include "backends/softnic/firmware/capabilities.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/memory/keys.h"
#include "tests/format/csv.h"

namespace gdakit::softnic::test {
namespace {

using Page = format::prm::CapabilityPage;
using format::CsvRow;

constexpr std::array kModels = {"connectx6", "connectx7", "connectx8"};

std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }

Page page_of(const std::string& name) {
  static const std::map<std::string, Page> kPages = {
      {"cmd_hca_cap", Page::cmd_hca_cap},       {"odp_cap", Page::odp_cap},
      {"atomic_caps", Page::atomic_caps},       {"roce_cap", Page::roce_cap},
      {"device_mem_cap", Page::device_mem_cap}, {"cmd_hca_cap_2", Page::cmd_hca_cap_2}};
  return kPages.at(name);
}

CapabilityNeed need_of(const std::string& name) {
  static const std::map<std::string, CapabilityNeed> kNeeds = {
      {"", CapabilityNeed::nothing},
      {"ethernet", CapabilityNeed::ethernet},
      {"infiniband", CapabilityNeed::infiniband},
      {"on_demand_memory", CapabilityNeed::on_demand_memory}};
  return kNeeds.at(name);
}

class Capabilities : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(rows_.size(), 50u) << "the table could not be read"; }

  const std::vector<CsvRow> rows_ = format::read_csv("backends/softnic/firmware/capabilities.csv");
};

TEST_F(Capabilities, FieldsAreTheReferences) {
  std::set<std::vector<std::string>> reference;
  for (const CsvRow& row : format::read_csv("tests/data/prm_fields.csv")) {
    reference.insert(
        {row.at("struct"), row.at("field"), row.at("bit_offset"), row.at("bit_width")});
  }
  for (const CsvRow& row : rows_) {
    ASSERT_FALSE(row.contains("malformed")) << row.at("malformed");
    EXPECT_TRUE(reference.contains(
        {row.at("page"), row.at("field"), row.at("bit_offset"), row.at("bit_width")}))
        << row.at("page") << "." << row.at("field");
  }
}

TEST_F(Capabilities, ValuesFitAndOneIsNotZero) {
  for (const CsvRow& row : rows_) {
    bool any = false;
    for (const char* model : kModels) {
      EXPECT_EQ(number(row.at(model)) >> number(row.at("bit_width")), 0u) << row.at("field");
      any = any || number(row.at(model)) != 0;
    }
    EXPECT_TRUE(any) << row.at("field");
  }
}

// Rows of a page go by their places.
TEST_F(Capabilities, NoFieldIsThereTwiceOrInAnother) {
  std::map<std::string, std::uint64_t> ends;
  for (const CsvRow& row : rows_) {
    const std::uint64_t begin = number(row.at("bit_offset"));
    EXPECT_GE(begin, ends[row.at("page")]) << row.at("field");
    ends[row.at("page")] = begin + number(row.at("bit_width"));
  }
}

TEST_F(Capabilities, TheTableIsWhatWasCompiled) {
  const auto compiled = capability_rows();
  ASSERT_EQ(compiled.size(), rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const CsvRow& row = rows_[i];
    SCOPED_TRACE(row.at("field"));
    EXPECT_EQ(compiled[i].page, page_of(row.at("page")));
    EXPECT_EQ(compiled[i].bit_offset, number(row.at("bit_offset")));
    EXPECT_EQ(compiled[i].bit_width, number(row.at("bit_width")));
    EXPECT_EQ(compiled[i].need, need_of(row.at("needs")));
    for (std::size_t model = 0; model < kModels.size(); ++model) {
      EXPECT_EQ(compiled[i].values[model], number(row.at(kModels[model])));
    }
  }
}

TEST(CapabilityValues, OfMemoryKeysAreTheirLimits) {
  using format::prm::CmdHcaCap;
  std::array<std::uint8_t, kCapabilityPageBytes> bytes{};
  ASSERT_TRUE(write_capabilities(Page::cmd_hca_cap, {}, bytes));
  const format::prm::View<CmdHcaCap> page(bytes);
  EXPECT_EQ(page.get(CmdHcaCap::max_indirection), kMaxIndirection);
  EXPECT_EQ(page.get(CmdHcaCap::log_max_klm_list_size), kLogMostListEntries);
}

}  // namespace
}  // namespace gdakit::softnic::test

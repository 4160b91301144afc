// Compares every layout of core/format/prm, as it is written there, with tests/data/prm_fields.csv:
// CreateCqIn is create_cq_in, its fields have the table's names, places and widths, and it has the
// table's size. A layout by another name (using) is compared as that one, too.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/format/csv.h"

namespace gdakit::format {
namespace {

constexpr const char* kHeaders[] = {"caps.h",  "command.h", "counters.h", "cq.h",
                                    "dct.h",   "mkey.h",    "pd.h",       "qp.h",
                                    "query.h", "rmp.h",     "srq.h",      "vport.h"};

struct WrittenField {
  std::string name;
  std::string offset;
  std::string width;  // in bits; empty: a part's
  std::string part;
};

struct WrittenLayout {
  std::string base;
  std::size_t bytes = 0;
  std::vector<WrittenField> fields;
};

using Written = std::map<std::string, WrittenLayout>;

// CreateCqIn -> create_cq_in
std::string table_name(const std::string& layout) {
  static const std::map<std::string, std::string> kOthers = {
      {"Qp2errIn", "qp_2err_in"}, {"Qp2rstIn", "qp_2rst_in"}, {"CmdHcaCap2", "cmd_hca_cap_2"}};
  if (const auto other = kOthers.find(layout); other != kOthers.end()) return other->second;
  std::string name;
  for (const char c : layout) {
    const bool begins = std::isupper(static_cast<unsigned char>(c)) != 0 && !name.empty();
    if (begins) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string text_of(const std::string& header) {
  std::ifstream file("core/format/prm/" + header);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Declarations, which may go over several lines.
void read_header(const std::string& text, Written& written) {
  static const std::regex kDeclaration(
      R"(struct (\w+)(?: : (\w+))? \{|kBytes = (\d+);|Field<\w+, (\d+), (\d+)>\s+(\w+)\{\};)"
      R"(|Part<\w+, (\w+), (\d+)>\s+(\w+)\{\};|Octets<\w+, (\d+), (\d+)>\s+(\w+)\{\};)"
      R"(|using (\w+) = (\w+);)");
  WrittenLayout* layout = nullptr;
  for (std::sregex_iterator at(text.begin(), text.end(), kDeclaration), end; at != end; ++at) {
    const std::smatch& found = *at;
    const auto has = [&found](std::size_t group) { return found[group].matched; };
    if (has(1)) {
      layout = &written[found[1]];
      layout->base = found[2];
    } else if (has(3)) {
      layout->bytes = std::stoul(found[3]);
    } else if (has(4)) {
      layout->fields.push_back({found[6], found[4], found[5], {}});
    } else if (has(7)) {
      layout->fields.push_back({found[9], found[8], {}, found[7]});
    } else if (has(10)) {
      const std::string bits = std::to_string(8 * std::stoul(found[11]));
      layout->fields.push_back({found[12], found[10], bits, {}});
    } else {
      written[found[13]] = written.at(found[14]);
    }
  }
}

class PrmLayout : public testing::Test {
 protected:
  PrmLayout() {
    for (const char* header : kHeaders) read_header(text_of(header), written_);
  }

  // The rows of a struct by field. Of those with one name the first, which newer headers have.
  std::map<std::string, CsvRow> table(const std::string& name) const {
    std::map<std::string, CsvRow> found;
    for (const CsvRow& row : rows_) {
      if (row.at("struct") == name) found.insert({row.at("field"), row});
    }
    return found;
  }
  std::string bits_of(const WrittenField& field) const {
    return field.part.empty() ? field.width : std::to_string(8 * written_.at(field.part).bytes);
  }

  Written written_;
  const std::vector<CsvRow> rows_ = read_csv("tests/data/prm_fields.csv");
};

TEST_F(PrmLayout, EveryFieldIsTheTables) {
  ASSERT_GE(written_.size(), 20u) << "core/format/prm could not be read";
  for (const auto& [name, layout] : written_) {
    const auto rows = table(table_name(name));
    ASSERT_TRUE(rows.contains("(size)")) << table_name(name) << " is not in the table";
    EXPECT_EQ(std::to_string(8 * layout.bytes), rows.at("(size)").at("bit_width")) << name;
    for (const WrittenField& field : layout.fields) {
      SCOPED_TRACE(name + "::" + field.name);
      ASSERT_TRUE(rows.contains(field.name)) << "no such row";
      const CsvRow& row = rows.at(field.name);
      EXPECT_EQ(field.offset, row.at("bit_offset"));
      EXPECT_EQ(bits_of(field), row.at("bit_width"));
      if (field.part.empty()) continue;
      EXPECT_EQ(table_name(field.part), row.at("nested_struct"));
    }
  }
}

// Fields of the base are there, or their place is nobody else's.
TEST_F(PrmLayout, ABasesFieldsAreTheTables) {
  for (const auto& [name, layout] : written_) {
    if (layout.base.empty()) continue;
    const auto rows = table(table_name(name));
    for (const WrittenField& field : written_.at(layout.base).fields) {
      for (const auto& [row_name, row] : rows) {
        if (row.at("bit_offset") != field.offset || row_name == "(size)") continue;
        EXPECT_EQ(row_name, field.name) << name;
        EXPECT_EQ(row.at("bit_width"), field.width) << name << "::" << field.name;
      }
    }
  }
}

TEST_F(PrmLayout, EveryStructOfTheTableIsALayout) {
  for (const CsvRow& row : rows_) {
    ASSERT_FALSE(row.contains("malformed")) << row.at("malformed");
    const auto is_it = [&row](const auto& one) {
      return table_name(one.first) == row.at("struct");
    };
    EXPECT_TRUE(std::any_of(written_.begin(), written_.end(), is_it)) << row.at("struct");
  }
}

}  // namespace
}  // namespace gdakit::format

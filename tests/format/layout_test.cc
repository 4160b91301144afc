// Compares every row of tests/data/wqe_cqe.csv with the structs of core/format, both ways: a row
// has a counterpart in layout_table.h or a reason for having none, and every byte of a struct is
// the field of a row.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/format/csv.h"
#include "tests/format/layout_table.h"

namespace gdakit::format::layout {
namespace {

std::string key_of(const CsvRow& row) { return row.at("segment") + "/" + row.at("field"); }

const Field* find_field(const CsvRow& row) {
  const auto record = records().find(row.at("segment"));
  if (record == records().end()) return nullptr;
  for (const Field& candidate : record->second.fields) {
    if (candidate.name == row.at("field")) return &candidate;
  }
  return nullptr;
}

// Finds which bits of a word of `width` bytes an accessor reads, by setting one bit at a time; says
// "msb:lsb", or what is wrong with the bits.
std::string bits_read_by(const BitField& bits, std::size_t width) {
  int lsb = -1;
  int msb = -1;
  for (int bit = 0; bit < static_cast<int>(8 * width); ++bit) {
    const Word value = bits.read(Word{1} << bit);
    if (value == 0) continue;
    if (lsb < 0) lsb = bit;
    if (msb >= 0 && bit != msb + 1) return "a gap below bit " + std::to_string(bit);
    if (value != Word{1} << (bit - lsb)) return "bit " + std::to_string(bit) + " is not in place";
    msb = bit;
  }
  return std::to_string(msb) + ":" + std::to_string(lsb);
}

void check_field(const CsvRow& row, const Field& found) {
  EXPECT_EQ(std::to_string(found.offset), row.at("byte_offset"));
  EXPECT_EQ(std::to_string(found.width), row.at("byte_width"));
  const bool row_big = row.at("endianness").find("big") != std::string::npos;
  // A big-endian integer that is not aligned, or is one byte wide, is kept as bytes.
  const bool integer = found.width > 1 && found.offset % found.width == 0;
  EXPECT_EQ(found.big_endian, row_big && integer);
}

// Checks one row against its counterpart; false if it has none.
bool check_row(const CsvRow& row) {
  const std::string key = key_of(row);
  const auto record = records().find(row.at("segment"));
  if (row.at("field") == "(size)" && record != records().end()) {
    EXPECT_EQ(std::to_string(record->second.size), row.at("byte_width"));
    return true;
  }
  if (const auto bits = bit_fields().find(key); bits != bit_fields().end()) {
    const std::size_t width = std::stoul(row.at("byte_width"));
    EXPECT_EQ(bits_read_by(bits->second, width), row.at("bits"));
    return true;
  }
  if (const auto constant = constants().find(key); constant != constants().end()) {
    EXPECT_EQ(std::to_string(constant->second.first), row.at("byte_offset"));
    EXPECT_EQ(std::to_string(constant->second.second), row.at("byte_width"));
    return true;
  }
  const Field* found = find_field(row);
  if (found != nullptr) check_field(row, *found);
  return found != nullptr;
}

class Layout : public testing::Test {
 protected:
  const std::vector<CsvRow> rows_ = read_csv("tests/data/wqe_cqe.csv");
};

TEST_F(Layout, EveryRowHasItsCounterpartOrAReason) {
  ASSERT_GE(rows_.size(), 100u) << "tests/data/wqe_cqe.csv could not be read";
  for (const CsvRow& row : rows_) {
    ASSERT_FALSE(row.contains("malformed")) << row.at("malformed");
    SCOPED_TRACE(key_of(row));
    if (not_modelled().contains(key_of(row))) continue;
    EXPECT_TRUE(check_row(row)) << "core/format has no counterpart of this row";
  }
}

TEST_F(Layout, EveryFieldHasARow) {
  std::set<std::string> keys;
  for (const CsvRow& row : rows_) keys.insert(key_of(row));
  for (const auto& [name, record] : records()) {
    for (const Field& each : record.fields) EXPECT_TRUE(keys.contains(name + "/" + each.name));
  }
  for (const auto& [key, bits] : bit_fields()) EXPECT_TRUE(keys.contains(key)) << key;
  for (const auto& [key, constant] : constants()) EXPECT_TRUE(keys.contains(key)) << key;
  for (const auto& [key, reason] : not_modelled()) EXPECT_TRUE(keys.contains(key)) << key;
}

// A field that this file forgot would leave a gap.
TEST_F(Layout, FieldsFillTheirStructs) {
  for (const auto& [name, record] : records()) {
    std::size_t end = 0;
    for (const Field& each : record.fields) {
      EXPECT_EQ(each.offset, end) << name << "/" << each.name;
      end = each.offset + each.width;
    }
    EXPECT_EQ(end, record.size) << name;
  }
}

TEST_F(Layout, ARowThatIsNotModelledHasNoCounterpart) {
  for (const CsvRow& row : rows_) {
    if (!not_modelled().contains(key_of(row))) continue;
    EXPECT_EQ(find_field(row), nullptr) << key_of(row);
    EXPECT_FALSE(bit_fields().contains(key_of(row)));
    EXPECT_FALSE(constants().contains(key_of(row)));
  }
}

TEST(BitsReadBy, NamesTheRangeAndWhatIsWrongWithOne) {
  EXPECT_EQ(bits_read_by({[](Word w) { return (w >> 8) & 0xffff; }}, 4), "23:8");
  EXPECT_EQ(bits_read_by({[](Word w) { return w & 5; }}, 1), "a gap below bit 2");
  EXPECT_EQ(bits_read_by({[](Word w) { return (w & 3) == 0 ? 0 : Word{1}; }}, 1),
            "bit 1 is not in place");
}

}  // namespace
}  // namespace gdakit::format::layout

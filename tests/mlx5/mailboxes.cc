#include "tests/mlx5/mailboxes.h"

#include <algorithm>
#include <map>

#include "core/base/hex.h"
#include "tests/format/csv.h"

namespace gdakit::mlx5 {
namespace {

struct Known {
  const char* name;
  const char* layout;
};

// By opcode; an empty name: it only asks.
const std::map<std::uint32_t, Known>& known() {
  static const std::map<std::uint32_t, Known> kKnown = {
      {0x100, {"", ""}},
      {0x400, {"CREATE_CQ", "create_cq_in"}},
      {0x500, {"CREATE_QP", "create_qp_in"}},
      {0x502, {"RST2INIT", "rst2init_qp_in"}},
      {0x503, {"INIT2RTR", "init2rtr_qp_in"}},
      {0x504, {"RTR2RTS", "rtr2rts_qp_in"}},
      {0x50b, {"", ""}},
      {0x700, {"CREATE_SRQ", "create_srq_in"}},
      {0x710, {"CREATE_DCT", "create_dct_in"}},
      {0x842, {"", ""}},
      {0x90c, {"CREATE_RMP", "create_rmp_in"}},
  };
  return kKnown;
}

const std::vector<format::CsvRow>& all_fields() {
  static const std::vector<format::CsvRow> kFields = format::read_csv("tests/data/prm_fields.csv");
  return kFields;
}

bool bit_at(const Command& command, std::size_t bit) {
  return (command.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

}  // namespace

std::vector<Command> named(const std::vector<std::vector<std::uint8_t>>& sent) {
  std::vector<Command> commands;
  std::map<std::string, int> counts;
  for (const auto& bytes : sent) {
    const auto found = known().find(std::uint32_t{bytes[0]} << 8 | bytes[1]);
    if (found == known().end()) {
      commands.push_back({"unknown", "mbox_in", bytes});
    } else if (*found->second.name != '\0') {
      std::string name = found->second.name;
      const int count = ++counts[name];
      if (count > 1) name += ' ' + std::to_string(count);
      commands.push_back({name, found->second.layout, bytes});
    }
  }
  return commands;
}

std::optional<Place> find_field(const std::string& layout, const std::string& path) {
  const std::size_t dot = path.find('.');
  const std::string first = path.substr(0, dot);
  for (const format::CsvRow& row : all_fields()) {
    if (row.at("struct") != layout || row.at("field") != first) continue;
    const Place place{std::stoul(row.at("bit_offset")), std::stoul(row.at("bit_width"))};
    if (dot == std::string::npos) return place;
    const auto inner = find_field(row.at("nested_struct"), path.substr(dot + 1));
    if (!inner) return std::nullopt;
    return Place{place.bit_offset + inner->bit_offset, inner->bit_width};
  }
  return std::nullopt;
}

std::string value_at(const Command& command, const Place& place) {
  if (place.bit_width > 64) {
    return hex_digits(std::vector<std::uint8_t>(
        command.bytes.begin() + static_cast<std::ptrdiff_t>(place.bit_offset / 8),
        command.bytes.begin() +
            static_cast<std::ptrdiff_t>((place.bit_offset + place.bit_width) / 8)));
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < place.bit_width; ++i) {
    value = value << 1 | (bit_at(command, place.bit_offset + i) ? 1 : 0);
  }
  return std::to_string(value);
}

std::optional<std::size_t> find_stray_bit(const Command& command,
                                          const std::vector<Place>& places) {
  for (std::size_t bit = 0; bit < 8 * command.bytes.size(); ++bit) {
    const auto has_it = [bit](const Place& place) {
      return bit >= place.bit_offset && bit < place.bit_offset + place.bit_width;
    };
    if (bit_at(command, bit) && std::ranges::none_of(places, has_it)) return bit;
  }
  return std::nullopt;
}

}  // namespace gdakit::mlx5

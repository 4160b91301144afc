// Commands as tables name them: bits by the names that the programmer's reference manual has, as in
// tests/data/prm_fields.csv.
//
//   const Command command{"INIT2RTR", "init2rtr_qp_in", bytes};
//   value_of(command, "qpc.primary_address_path.rlid")   // "9"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gdakit::mlx5 {

struct Command {
  std::string name;    // CREATE_CQ; the second one of a queue is CREATE_CQ 2
  std::string layout;  // create_cq_in
  std::vector<std::uint8_t> bytes;
};

// What was sent to make a queue, named; commands that only ask are left out. A command that no
// table here knows has the name "unknown".
std::vector<Command> named(const std::vector<std::vector<std::uint8_t>>& sent);

struct Place {
  std::size_t bit_offset = 0;
  std::size_t bit_width = 0;
};
// Of a field, or of one of a part, by its path.
std::optional<Place> find_field(const std::string& layout, const std::string& path);

// In decimal; of more than 64 bits in hexadecimal digits.
std::string value_at(const Command& command, const Place& place);

// The first bit that is set and lies in none of the places.
std::optional<std::size_t> find_stray_bit(const Command& command, const std::vector<Place>& places);

}  // namespace gdakit::mlx5

// Captures as Wireshark reads them: pcapng's blocks.
//
//   section | interface 0 | interface 1 ... | packet | packet | ...
//
// Each function appends one block to `out`. Source: IETF draft-ietf-opsawg-pcapng; packets are of
// link type 101, raw IPv4 or IPv6.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gdakit::softnic::pcapng {

// The file begins with it.
void add_section(std::vector<std::uint8_t>& out, std::string_view application);
// Interfaces are numbered from 0 in the order added.
void add_interface(std::vector<std::uint8_t>& out, std::string_view name);

enum class Direction : std::uint32_t { unknown = 0, inbound = 1, outbound = 2 };

struct Captured {
  std::uint32_t interface = 0;
  std::uint64_t time_ns = 0;  // since the beginning of 1970
  Direction direction = Direction::unknown;
  std::string_view comment;  // UTF-8, may be empty; cut behind 65,535 bytes
};
// `frame` begins with an IP header, and does not lie in `out`.
void add_packet(std::vector<std::uint8_t>& out, const Captured& captured,
                std::span<const std::uint8_t> frame);

}  // namespace gdakit::softnic::pcapng

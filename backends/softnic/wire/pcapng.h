// Captures as Wireshark reads them: pcapng's blocks.
//
//   section | interface 0 | interface 1 ... | packet | packet | ... | statistics
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
  std::string_view comment = {};  // UTF-8, may be empty; cut behind 65,535 bytes
  // Of the whole frame, where the one that is added lacks its end; 0: it lacks nothing.
  std::uint32_t original_bytes = 0;
  // Packets of this interface that came behind the one added before, and are not in the file.
  std::uint64_t dropped = 0;
};
// `frame` begins with an IP header, and does not lie in `out`.
void add_packet(std::vector<std::uint8_t>& out, const Captured& captured,
                std::span<const std::uint8_t> frame);

// Of an interface, from the beginning of its capture to time_ns.
struct Statistics {
  std::uint32_t interface = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t received = 0;  // packets, with the dropped ones
  std::uint64_t dropped = 0;
};
void add_statistics(std::vector<std::uint8_t>& out, const Statistics& statistics);

}  // namespace gdakit::softnic::pcapng

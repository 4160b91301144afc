// GidChoice: which GID of a RoCE port a NIC is to take (GDAKIT_GID).
//
//   3                      by its index in the port's table
//   v2,ipv4,10.0.0.0/8     of RoCE v2, an IPv4 address, in that network; each may be left out
//   fd00::/8               an IPv6 address in that network
//
// The empty choice leaves it to the NIC.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gdakit {

class GidChoice {
 public:
  using Gid = std::array<std::uint8_t, 16>;  // an IPv4 address as IPv6 has it, ::ffff:a.b.c.d

  // Nothing if the text is no such choice: what is said twice, or cannot go together.
  static std::optional<GidChoice> parse(std::string_view text);

  // The index, where that is given.
  std::optional<std::uint8_t> index() const { return index_; }
  // Whether a GID of that version of RoCE, 1 or 2, is what was asked for, but for its index.
  bool allows(const Gid& gid, int version) const;
  // As parse() takes it.
  const std::string& text() const { return text_; }

 private:
  struct Network {
    Gid prefix{};
    std::size_t bits = 0;
  };
  bool take(std::string_view word);
  bool take_network(std::string_view word);

  std::string text_;
  std::optional<std::uint8_t> index_;
  std::optional<int> version_;
  std::optional<bool> is_ipv4_;
  std::optional<Network> network_;
};

bool is_ipv4(const GidChoice::Gid& gid);

}  // namespace gdakit

// The GIDs of a port: which one a NIC takes, and where it is now.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/mlx5/libraries.h"
#include "core/base/gid_choice.h"

namespace gdakit::mlx5 {

// A port's table, as the system has it at the moment.
class GidTable {
 public:
  static constexpr int kMostPlaces = 256;

  // Of more than 256 places the first 256: commands can name no others.
  GidTable(const Libraries& libraries, ibv_context* context, std::uint8_t port, int places)
      : libraries_(libraries),
        context_(context),
        port_(port),
        places_(places < kMostPlaces ? places : kMostPlaces) {}

  // The one that reaches farthest of those that the choice allows: RoCE v2 before v1, addresses
  // that are routed before link-local ones, IPv4 before IPv6. Errors (unavailable): that the port
  // "has no GID" that is allowed, and which it has.
  Result<ibv_gid_entry> choose(const GidChoice& choice) const;
  // Where an entry is now that was chosen before: the same GID of the same type and network
  // interface, for VLANs may have the GID of what they are on. Mostly it is where it was.
  std::optional<std::uint8_t> find(const ibv_gid_entry& entry) const;

 private:
  std::optional<ibv_gid_entry> at(int index) const;
  bool has(const ibv_gid_entry& entry, int index) const;
  Error none(const GidChoice& choice) const;

  const Libraries& libraries_;
  ibv_context* const context_;
  const std::uint8_t port_;
  const int places_;
};

// What is at an index of a port's table: ENODATA if there is nothing, EBADMSG if the answer ends
// before the GID's type.
int read_gid(const Libraries& libraries, ibv_context* context, std::uint8_t port,
             std::uint32_t index, ibv_gid_entry& entry);

GidChoice::Gid bytes_of(const ibv_gid& gid);
bool is_link_local(const GidChoice::Gid& gid);
std::string text_of(const GidChoice::Gid& gid);

}  // namespace gdakit::mlx5

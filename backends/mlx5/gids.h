// The GIDs of a port: which one a NIC takes, and where it is now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/mlx5/libraries.h"
#include "core/base/gid_choice.h"

namespace gdakit::mlx5 {

// A port's table, as the system has it at the moment: of more than 256 places the first 256, for
// commands can name no others.
class GidTable {
 public:
  GidTable(const Libraries& libraries, ibv_context* context, std::uint8_t port)
      : libraries_(libraries), context_(context), port_(port) {}

  // All that there are, each with its index, by one call. Errors: "ibv_query_gid_table: " and what
  // that answers (EBADMSG: an answer that ends early).
  Result<std::vector<ibv_gid_entry>> entries() const;
  // The one that reaches farthest of those that the choice allows: RoCE v2 before v1, addresses
  // that are routed before link-local ones, IPv4 before IPv6. Errors (unavailable): that the port
  // "has no GID" that is allowed, and which it has.
  Result<ibv_gid_entry> choose(const GidChoice& choice) const;
  // Where an entry is now that was chosen before: the same GID of the same type and network
  // interface, for VLANs may have the GID of what they are on. Mostly it is where it was. Errors:
  // it is not there any more (not_found); those of entries().
  Result<std::uint8_t> find(const ibv_gid_entry& entry) const;

 private:
  bool is_where_it_was(const ibv_gid_entry& entry) const;

  const Libraries& libraries_;
  ibv_context* const context_;
  const std::uint8_t port_;
};

GidChoice::Gid bytes_of(const ibv_gid& gid);
bool is_link_local(const GidChoice::Gid& gid);
std::string text_of(const GidChoice::Gid& gid);

}  // namespace gdakit::mlx5

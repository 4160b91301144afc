// The RDMA NICs of this host: which of them gdakit could use, and why not the rest. Each port of a
// device is a NIC of its own.
//
// They are known by their vendor and what they can do, never by their names, which distributions
// change. Nothing here names a type of libibverbs: a build without its headers has the same
// functions, which say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/gid_choice.h"
#include "core/base/hca_list.h"
#include "core/base/result.h"

namespace gdakit::mlx5 {

// Of one port of a device, or of all of a device that is refused as a whole.
struct DeviceReport {
  std::string name;        // of the device, as libibverbs has it
  std::uint8_t port = 0;   // that can be used; 0: it cannot
  std::string sentence;    // of the port; or why it is refused, and what to do about it
  std::size_t device = 0;  // its place among those that libibverbs lists
  bool usable() const { return port != 0; }
};

// Whether this build has the headers of libibverbs and libmlx5.
bool built_in();

// Errors (unavailable): no such headers in this build, libraries that are absent or unfit, no
// device. A name of the list that no device has, or a port that a device has not, is not_found.
Result<std::vector<DeviceReport>> report_devices(const HcaList& list, const GidChoice& gid = {});

// One of the NICs that a PE takes.
struct PlacedNic {
  std::string name;
  std::uint8_t port = 0;
  std::string why;  // this one and no other
};

// So many NICs, for the PE of that number among those of its host, on the last one of the GPUs, by
// their PCI addresses: those of its host's PEs up to it. An empty address is of a PE without a GPU.
// Errors: as report_devices; fewer NICs can be used, or not those of the map.
Result<std::vector<PlacedNic>> place_nics(std::size_t count, const HcaList& list, const HcaMap& map,
                                          const GidChoice& gid, std::vector<std::string> gpus);

}  // namespace gdakit::mlx5

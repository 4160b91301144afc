// What a memory region is as verbs have it, and as the NIC does.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic::uverbs {

class Device;

// 0, or an errno value: EOPNOTSUPP for what is not there, EINVAL where peers may change what the
// NIC itself may not.
int check_access(std::uint32_t flags);

Access access_of(std::uint32_t flags);

struct RegionPlace {
  std::uint64_t start = 0;   // address in the client
  std::uint64_t length = 0;  // bytes
  std::uint64_t iova = 0;    // by which work requests name its first byte
};

// Behind all addresses of a process.
inline constexpr std::uint64_t kUserAddressEnd = std::uint64_t{1} << 57;

// Where the region lies, and its rights, by access flags that are checked. 0, or an errno value:
// those of take_memory(), unless it is to be paged on demand. Of that, 0 and the highest length are
// all that the client has and will have.
int place(Device& device, const RegionPlace& where, std::uint32_t flags, MrAttributes& attributes);

}  // namespace gdakit::softnic::uverbs

// Access flags of a memory region as verbs have them, and as the NIC does.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic::uverbs {

// 0, or an errno value: EOPNOTSUPP for what is not there, EINVAL where peers may change what the
// NIC itself may not.
int check_access(std::uint32_t flags);

Access access_of(std::uint32_t flags);

}  // namespace gdakit::softnic::uverbs

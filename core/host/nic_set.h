// NicSet: the NICs of one PE as one Backend, where GDAKIT_NICS_PER_PE gives it several.
//
//   queue number of the set = queue number of its NIC * number of NICs + NIC
//
// A queue is of the NIC that QueueMemory::nic says, and connects with one that the peer made of its
// NIC of that place. What nic(i) is asked is that NIC's alone: memory keys and DC targets. A set
// says the same of none, so those calls are errors here (invalid_argument).
#pragma once

#include <memory>
#include <vector>

#include "core/host/backend.h"

namespace gdakit {

// From two to kMaxNicsPerPe NICs of one kind. Its limits are those that all of them keep.
std::unique_ptr<Backend> make_nic_set(std::vector<std::unique_ptr<Backend>> nics);

}  // namespace gdakit

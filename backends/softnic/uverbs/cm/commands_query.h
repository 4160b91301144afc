// What rdma_cm's commands answer about an identifier, in the kernel's structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <rdma/rdma_user_cm.h>
#include <vector>

#include "backends/softnic/uverbs/cm/manager.h"
#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs::cm {

rdma_ucm_query_route_resp route_of(const Spec& spec, const IdState& state);
rdma_ucm_query_addr_resp addresses_of(const Spec& spec, const IdState& state);
// Addresses of the kind AF_IB, with the GIDs of the way.
rdma_ucm_query_addr_resp gids_of(const Spec& spec, const IdState& state);
// A path for each that there is, 0 or 1.
std::vector<std::uint8_t> paths_of(const IdState& state);

// Where `way` leads, for an address handle or a queue pair of the NIC with this index.
ib_uverbs_ah_attr address_handle(const Spec& spec, int nic, const Way& way);

// With which attributes the queue pair is to go to the state (enum ib_qp_state). 0, or EINVAL: not
// to this one, or not yet.
int qp_attributes(const Spec& spec, const IdState& state, std::uint32_t qp_state,
                  ib_uverbs_qp_attr& attributes);

}  // namespace gdakit::softnic::uverbs::cm

// Values of a queue pair as verbs have them, and as the NIC does.
#pragma once

#include <cstdint>
#include <optional>
#include <rdma/ib_user_verbs.h>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {

// What peers may do, of ib_uverbs_access_flags: the same of a queue pair and of a region.
Access remote_access(std::uint32_t flags);

// enum ibv_qp_state.
std::optional<QpState> qp_state(std::uint8_t verbs_state);
std::uint8_t verbs_state(QpState state);

// enum ibv_qp_type; nothing for what cannot be made.
std::optional<ServiceType> service_of(std::uint32_t verbs_type);

// Notes the attributes of this mask.
void note(const ib_uverbs_modify_qp& request, ib_uverbs_query_qp_resp& known);

struct StateChange {
  QpState from = QpState::reset;
  QpState to = QpState::reset;
  std::uint32_t mask = 0;  // which attributes are new
};

// What the NIC is to be told so that its queue pair changes so, with the attributes that are noted.
// EINVAL for values that there are not; EHOSTUNREACH for a peer whose GID nobody has.
int modify_of(const Qp& qp, const StateChange& change, AddressResolver& addresses,
              QpModify& modify);

}  // namespace gdakit::softnic::uverbs

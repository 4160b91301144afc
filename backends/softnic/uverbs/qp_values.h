// Values of a queue pair as verbs have them, and as the NIC does.
#pragma once

#include <cstdint>
#include <optional>
#include <rdma/ib_user_verbs.h>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/objects.h"
#include "core/format/prm/qp.h"

namespace gdakit::softnic::uverbs {

// What peers may do, of ib_uverbs_access_flags: the same of a queue pair and of a region.
Access remote_access(std::uint32_t flags);

// enum ibv_qp_state.
std::optional<QpState> qp_state(std::uint8_t verbs_state);
std::uint8_t verbs_state(QpState state);

// enum ibv_qp_type, kDciType or kDctType; nothing for what cannot be made.
std::optional<ServiceType> service_of(std::uint32_t verbs_type);
// Qpc::st.
std::uint64_t st_of(ServiceType service);

// Notes the attributes of this mask.
void note(const ib_uverbs_modify_qp& request, ib_uverbs_query_qp_resp& known);

// The same of what the NIC tells of a queue pair, and its state, whoever has given it: firmware
// commands of the client, too.
void note(format::prm::View<format::prm::Qpc> context, ib_uverbs_query_qp_resp& known);

struct StateChange {
  QpState from = QpState::reset;
  QpState to = QpState::reset;
  std::uint32_t mask = 0;  // which attributes are new
};

// The command that changes the queue pair so, with the attributes that are noted: all but the QPN.
// EINVAL for values that there are not; EHOSTUNREACH for a peer whose GID nobody has.
int mailbox_of(const Qp& qp, const StateChange& change, AddressResolver& addresses,
               format::prm::Opcode& opcode, format::prm::Mailbox<format::prm::Rst2initQpIn>& in);

}  // namespace gdakit::softnic::uverbs

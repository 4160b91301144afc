// The fields of a queue pair's context (qpc) that change its state, and what the NIC makes of them.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/qp_fields.h"
#include "core/format/prm/qp.h"

namespace gdakit::softnic {

using QpcView = format::prm::View<format::prm::Qpc>;
using QpcWriter = format::prm::View<format::prm::Qpc, std::uint8_t>;

// ServiceType::count: there is none of this number.
ServiceType service_of(QpcView context);

// The fields that the bits of opt_param_mask name.
QpFields optional_fields(std::uint32_t opt_param_mask);

// Values of all fields, but for the path's endpoint.
void read_qpc(QpcView context, QpModify& modify);

// Takes these fields over, and no others. Of the rights those whose bits opt_param_mask has, or all
// of them if it has none.
void copy_qpc(QpcView from, QpFields fields, std::uint32_t opt_param_mask, QpcWriter to);

// The address of the peer.
AddressVector peer_of(QpcView context);

}  // namespace gdakit::softnic

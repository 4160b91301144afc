// CQEs of a queue pair; Core::post_cqe takes them.
#pragma once

#include <cstdint>

#include "backends/softnic/transport/core.h"

namespace gdakit::softnic {

// A CQE of `qp` with the fields that all kinds share.
format::Cqe64 make_cqe(const Qp& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter);
format::Cqe64 make_error_cqe(const Qp& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter,
                             std::uint8_t send_opcode, Fault fault);

}  // namespace gdakit::softnic

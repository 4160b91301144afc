// CQEs of a queue pair, for QueueCore::post_cqe.
#pragma once

#include <cstdint>

#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/request.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

// A CQE of `qp` with the fields that all kinds share.
format::Cqe64 make_cqe(const QpCommon& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter);
format::Cqe64 make_error_cqe(const QpCommon& qp, format::CqeOpcode opcode,
                             std::uint16_t wqe_counter, std::uint8_t send_opcode, Fault fault);

}  // namespace gdakit::softnic

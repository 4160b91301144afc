// CQEs of a queue pair, for QueueCore::post_cqe.
#pragma once

#include <cstdint>

#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/request.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

// A CQE of `qp` with the fields that all kinds share.
format::Cqe64 make_cqe(const QpCommon& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter);
// Of a send WQE of this opcode that has succeeded.
inline format::Cqe64 make_requester_cqe(const QpCommon& qp, std::uint16_t wqe_counter,
                                        format::Opcode opcode) {
  format::Cqe64 cqe = make_cqe(qp, format::CqeOpcode::requester, wqe_counter);
  cqe.sop_drop_qpn = Be32{(std::uint32_t{static_cast<std::uint8_t>(opcode)} << 24) | qp.number};
  return cqe;
}
format::Cqe64 make_error_cqe(const QpCommon& qp, format::CqeOpcode opcode,
                             std::uint16_t wqe_counter, std::uint8_t send_opcode, Fault fault);

}  // namespace gdakit::softnic

#include "backends/softnic/queues/make_cqe.h"

#include "core/base/bits.h"

namespace gdakit::softnic {

format::Cqe64 make_cqe(const QpCommon& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter) {
  format::Cqe64 cqe{};
  cqe.srqn_uidx = Be32{qp.attributes.user_index & 0xffffff};
  cqe.sop_drop_qpn = Be32{qp.number};
  cqe.wqe_counter = Be16{wqe_counter};
  cqe.op_own = format::op_own(opcode, false);
  return cqe;
}

format::Cqe64 make_error_cqe(const QpCommon& qp, format::CqeOpcode opcode,
                             std::uint16_t wqe_counter, std::uint8_t send_opcode, Fault fault) {
  format::ErrorCqe error{};
  error.srqn = Be32{qp.attributes.user_index & 0xffffff};
  error.vendor_err_synd = fault.vendor_syndrome;
  error.syndrome = static_cast<std::uint8_t>(fault.syndrome);
  error.s_wqe_opcode_qpn = Be32{(std::uint32_t{send_opcode} << 24) | qp.number};
  error.wqe_counter = Be16{wqe_counter};
  // Seen on hardware: error CQEs count as solicited.
  error.op_own = format::op_own(opcode, false, /*solicited=*/true);
  return bit_cast<format::Cqe64>(error);
}

}  // namespace gdakit::softnic

#include "backends/mlx5/queue_error.h"

#include <cstddef>
#include <cstdint>

#include "core/host/stall.h"

namespace gdakit::mlx5 {

bool tells_failure(const void* cqe) {
  const auto* const op_own =
      static_cast<const std::uint8_t*>(cqe) + offsetof(format::ErrorCqe, op_own);
  return format::cqe_opcode(__atomic_load_n(op_own, __ATOMIC_ACQUIRE)) ==
         format::CqeOpcode::requester_error;
}

std::string why_by(const format::ErrorCqe& cqe) {
  const format::Syndrome syndrome{cqe.syndrome};
  if (format::cqe_opcode(cqe.op_own) != format::CqeOpcode::requester_error ||
      syndrome == format::Syndrome::flushed) {
    return kErrorNotTold;
  }
  return gdakit::describe(syndrome) + ", at WQE " + std::to_string(cqe.wqe_counter) + ", " +
         opcode_name(static_cast<std::uint8_t>(cqe.s_wqe_opcode_qpn >> 24));
}

}  // namespace gdakit::mlx5

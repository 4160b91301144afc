#include "backends/mlx5/queue_error.h"

#include <cstddef>

#include "core/host/stall.h"

namespace gdakit::mlx5 {

bool tells_failure(const void* cqe) {
  const auto* const op_own =
      static_cast<const std::uint8_t*>(cqe) + offsetof(format::ErrorCqe, op_own);
  return format::cqe_opcode(__atomic_load_n(op_own, __ATOMIC_ACQUIRE)) ==
         format::CqeOpcode::requester_error;
}

CqeTells what_it_tells(const format::ErrorCqe& cqe) {
  if (format::cqe_opcode(cqe.op_own) != format::CqeOpcode::requester_error) {
    return CqeTells::nothing;
  }
  return tells_cause(format::Syndrome{cqe.syndrome}) ? CqeTells::first_error : CqeTells::flush;
}

bool tells_cause(format::Syndrome syndrome) {
  return syndrome != format::Syndrome::none && syndrome != format::Syndrome::flushed;
}

std::string why_by(const format::ErrorCqe& cqe) {
  return gdakit::describe(format::Syndrome{cqe.syndrome}) + ", at WQE " +
         std::to_string(cqe.wqe_counter) + ", " +
         opcode_name(static_cast<std::uint8_t>(cqe.s_wqe_opcode_qpn >> 24));
}

std::string why_by(format::Syndrome syndrome, CqeTells cqe) {
  return gdakit::describe(syndrome) + (cqe == CqeTells::nothing ? ", on the receiving side" : "") +
         ", as the firmware remembers it";
}

}  // namespace gdakit::mlx5

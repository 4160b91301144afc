#include "tests/softnic/fuzz_side.h"

#include <algorithm>

namespace gdakit::softnic::test {

using format::CqeOpcode;
using format::Syndrome;

std::string WatchedCq::check_error(const format::Cqe64& cqe) {
  switch (syndrome_of(cqe)) {
    case Syndrome::local_length:
    case Syndrome::local_qp_operation:
    case Syndrome::local_protection:
    case Syndrome::flushed:
    case Syndrome::bad_response:
    case Syndrome::local_access:
    case Syndrome::remote_invalid_request:
    case Syndrome::remote_access:
    case Syndrome::remote_operation:
    case Syndrome::transport_retry_exceeded:
    case Syndrome::rnr_retry_exceeded: break;
    default: return "an error CQE with a syndrome that does not exist";
  }
  std::uint8_t bytes[sizeof cqe], all = 0;
  std::memcpy(bytes, &cqe, sizeof cqe);
  for (const std::uint8_t byte : bytes) all ^= byte;
  if (all != 0xff) return "an error CQE with a wrong signature";
  errors.push_back(syndrome_of(cqe));
  return {};
}

std::string WatchedCq::check(QpNumber qpn) {
  for (;;) {
    format::Cqe64 cqe;
    const std::uint64_t slot = consumer & ((1u << kLogCq) - 1);
    std::memcpy(&cqe, memory + slot * sizeof cqe, sizeof cqe);
    const CqeOpcode opcode = opcode_of(cqe);
    const bool owner = ((consumer >> kLogCq) & 1) != 0;
    if (opcode == CqeOpcode::invalid || ((cqe.op_own & 1) != 0) != owner) return {};
    ++consumer;
    if ((cqe.sop_drop_qpn & 0xffffff) != qpn) return "a CQE of another queue pair";
    const bool is_error =
        opcode == (is_send ? CqeOpcode::requester_error : CqeOpcode::responder_error);
    const bool is_success = is_send ? opcode == CqeOpcode::requester
                                    : opcode >= CqeOpcode::responder_write_imm &&
                                          opcode <= CqeOpcode::responder_send_imm;
    if (!is_error && !is_success) return "a CQE with an opcode that does not belong there";
    if (!is_error) continue;
    const std::string wrong = check_error(cqe);
    if (!wrong.empty()) return wrong;
  }
}

}  // namespace gdakit::softnic::test

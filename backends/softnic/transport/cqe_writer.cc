#include "backends/softnic/transport/cqe_writer.h"

#include <cstring>

#include "core/base/bits.h"

namespace gdakit::softnic {

bool Core::has_room(Cq& cq) {
  const std::uint64_t entries = std::uint64_t{1} << cq.attributes.log_entries;
  if (cq.attributes.overrun_ignore || cq.producer - cq.consumer < entries) return true;
  if (!cq.reading) {
    cq.read = port.read(&cq.record, cq.attributes.doorbell_record, sizeof cq.record);
    cq.reading = true;
  }
  return false;
}

bool Core::post_cqe(Cq& cq, format::Cqe64& cqe) {
  if (cq.overrun) return true;
  // An earlier CQE that lands later would hide this one; a queue pair's own chain keeps the order.
  const bool shared = cq.users > 1;
  if ((!ordered || shared) && !done(cq.last)) return false;
  if (!has_room(cq)) {
    if (!done(cq.read)) return false;
    cq.reading = false;
    // The record holds the low 24 bits of the consumer index, which never passes the producer.
    const std::uint64_t behind = (cq.producer - cq.record) & 0xffffff;
    const std::uint64_t entries = std::uint64_t{1} << cq.attributes.log_entries;
    if (behind >= entries) {
      cq.overrun = cq_overrun = true;
      return true;
    }
    cq.consumer = cq.producer - behind;
  }
  const bool owner = ((cq.producer >> cq.attributes.log_entries) & 1) != 0;
  cqe.op_own = static_cast<std::uint8_t>(cqe.op_own | (owner ? 1 : 0));
  if (format::cqe_opcode(cqe.op_own) < format::CqeOpcode::requester_error) {
    cqe.timestamp = Be64{now_ns};  // an error CQE has its syndromes in these bytes
  } else {
    // The XOR of a signed CQE's bytes is all ones.
    std::uint8_t bytes[sizeof cqe];
    cqe.signature = 0;
    std::memcpy(bytes, &cqe, sizeof cqe);
    std::uint8_t all = 0;
    for (const std::uint8_t byte : bytes) all ^= byte;
    cqe.signature = static_cast<std::uint8_t>(~all);
  }
  write_cqe(cq, cqe);
  ++cq.producer;
  ++counters.cqes;
  return true;
}

void Core::write_cqe(Cq& cq, const format::Cqe64& cqe) {
  const bool before = cq.succeeded;
  cq.succeeded = format::cqe_opcode(cqe.op_own) < format::CqeOpcode::requester_error;
  const bool alone = cq.attributes.collapsed && cq.attributes.overrun_ignore;
  if (short_cqes_ && alone && before && cq.succeeded) {
    std::uint64_t tail;
    std::memcpy(&tail, reinterpret_cast<const std::byte*>(&cqe) + format::kCqeTailOffset,
                sizeof tail);
    cq.last = port.write(cq.attributes.entries + format::kCqeTailOffset, &tail, sizeof tail);
    return;
  }
  const std::uint64_t mask = (std::uint64_t{1} << cq.attributes.log_entries) - 1;
  const std::uint64_t slot = cq.attributes.collapsed ? 0 : cq.producer & mask;
  cq.last = port.write_cqe(cq.attributes.entries + slot * sizeof cqe, cqe);
}

format::Cqe64 make_cqe(const Qp& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter) {
  format::Cqe64 cqe{};
  cqe.srqn_uidx = Be32{qp.attributes.user_index & 0xffffff};
  cqe.sop_drop_qpn = Be32{qp.number};
  cqe.wqe_counter = Be16{wqe_counter};
  cqe.op_own = format::op_own(opcode, false);
  return cqe;
}

format::Cqe64 make_error_cqe(const Qp& qp, format::CqeOpcode opcode, std::uint16_t wqe_counter,
                             std::uint8_t send_opcode, Fault fault) {
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

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
    case Syndrome::memory_window_bind:
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

void FuzzSide::make_list(const std::vector<KeyListEntry>& entries) {
  MkeyAttributes mkey;
  mkey.pd = pd;
  for (const KeyListEntry& entry : entries) mkey.length += entry.byte_count;
  mkey.access = Access::all;
  mkey.umr_enabled = true;
  mkey.list = {.capacity = kListEntries, .entries = entries};
  keys[kListKey] = *engine.create_mkey(mkey);
}

std::vector<KeyListEntry> FuzzSide::parts_of_all() const {
  std::vector<KeyListEntry> entries;
  for (std::uint32_t i = 0; i < kListEntries; ++i) {
    const std::uint32_t region = i % kRegions;
    entries.push_back(klm(keys[region], iova(region) + i * 300, kRegion / kListEntries));
  }
  return entries;
}

std::string FuzzSide::check_rest() {
  const QpInfo info = *engine.query_qp(qpn);
  if (!engine.drained()) return "a removal has not come to its end";
  const bool has_target = kind == FuzzKind::dc;
  if (has_target && !engine.destroy_dct(dct)) return "a target of DC has not drained";
  if (has_target && !engine.destroy_srq(target.srq)) return "what a target had is in use";
  if (info.state == QpState::sqd) {
    const bool drained = !info.sq_draining && info.send_completed == info.send_started;
    return drained ? "" : "a send queue has not drained";
  }
  if (info.state != QpState::rts && info.state != QpState::err) return {};
  if (info.send_completed != info.send_producer) return "a send queue has not come to rest";
  const QpError& error = info.first_error;
  if (error.syndrome == format::Syndrome::none || error.responder) return {};
  const bool told = std::count(send_cq.errors.begin(), send_cq.errors.end(), error.syndrome) != 0;
  return told ? "" : "a queue failed without an error CQE";
}

std::string FuzzSide::check_memory() const {
  if (!arena.guards_hold()) return "memory outside of everything registered has changed";
  if (!sq.unchanged() || !rq.unchanged() || !record.unchanged()) {
    return "the NIC wrote to a queue or record that it may only read";
  }
  if (!read_only.unchanged()) return "a region without the right to write has changed";
  return {};
}

}  // namespace gdakit::softnic::test

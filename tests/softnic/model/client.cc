#include "tests/softnic/model/client.h"

#include <string>

namespace gdakit::softnic::test::model {
namespace {

using format::CqeOpcode;

bool is_requester(CqeOpcode opcode) {
  return opcode == CqeOpcode::requester || opcode == CqeOpcode::requester_error;
}

}  // namespace

void ClientNic::make_cq(std::uint32_t log_entries, bool collapsed, bool overrun_ignore,
                        CqeSize cqe_size) {
  auto cq = std::make_unique<ClientCq>();
  cq->log_entries = collapsed ? 0 : log_entries;
  cq->cqe_size = cqe_size;
  cq->collapsed = collapsed;
  cq->overrun_ignore = overrun_ignore;
  cq->entries = memory.carve(cq->bytes());
  cq->record = memory.carve(8);
  clear(*cq);
  CqAttributes attributes;
  attributes.entries = memory.address(cq->entries);
  attributes.log_entries = cq->log_entries;
  attributes.cqe_size = cqe_size;
  attributes.collapsed = collapsed;
  attributes.overrun_ignore = overrun_ignore;
  attributes.doorbell_record = memory.address(cq->record);
  cq->number = *engine->create_cq(attributes);
  cqs.push_back(std::move(cq));
}

void ClientNic::clear(ClientCq& cq) {
  memory.fill(cq.entries, format::kInvalidCqeByte, cq.bytes());
  std::memset(&cq.seen, format::kInvalidCqeByte, sizeof cq.seen);
}

void ClientNic::poll() {
  for (const auto& cq : cqs) {
    if (cq->collapsed) {
      poll_collapsed(*cq);
    } else {
      poll(*cq);
    }
  }
}

void ClientNic::poll(ClientCq& cq) {
  for (; !journal.failed();) {
    const std::uint64_t slot = cq.consumer & ((1u << cq.log_entries) - 1);
    const std::size_t place = cq.place(slot);
    format::Cqe64 cqe;
    std::memcpy(&cqe, memory.at(place), sizeof cqe);
    const bool owner = ((cq.consumer >> cq.log_entries) & 1) != 0;
    if (opcode_of(cqe) == CqeOpcode::invalid || ((cqe.op_own & 1) != 0) != owner) return;
    memory.accept(place, sizeof cqe);
    ++cq.consumer;
    const Be32 index{static_cast<std::uint32_t>(cq.consumer & 0xffffff)};
    memory.store(cq.record, &index, sizeof index);
    dispatch(cq, cqe);
  }
}

void ClientNic::poll_collapsed(ClientCq& cq) {
  format::Cqe64 cqe;
  std::memcpy(&cqe, memory.at(cq.place(0)), sizeof cqe);
  if (std::memcmp(&cqe, &cq.seen, sizeof cqe) == 0) return;
  memory.accept(cq.place(0), sizeof cqe);
  cq.seen = cqe;
  dispatch(cq, cqe);
}

void ClientNic::dispatch(ClientCq& cq, const format::Cqe64& cqe) {
  const CqeOpcode opcode = opcode_of(cqe);
  const QpNumber qpn = cqe.sop_drop_qpn & 0xffffff;
  for (End* end : ends) {
    if (!end->exists || end->qpn != qpn) continue;
    const bool sends = is_requester(opcode);
    if ((sends ? end->send_cq : end->receive_cq) != &cq) break;
    return sends ? end->on_send_cqe(cq, cqe) : end->on_receive_cqe(cqe);
  }
  journal.note("CQE: qpn, opcode, counter",
               {qpn, static_cast<std::uint64_t>(opcode), cqe.wqe_counter});
  journal.fail("a CQE of a queue pair that does not complete there");
}

// In the order of the send queue: each CQE stands for its WQE and for those before it that make
// none.
void End::on_send_cqe(const ClientCq& cq, const format::Cqe64& cqe) {
  const bool is_error = opcode_of(cqe) == CqeOpcode::requester_error;
  const format::Syndrome syndrome = is_error ? syndrome_of(cqe) : format::Syndrome::none;
  const auto& in_flight = flow->in_flight();
  nic.journal.note("send CQE: end, counter, syndrome",
                   {id, cqe.wqe_counter, static_cast<std::uint64_t>(syndrome)});
  std::size_t at = 0;
  bool is_missing = false;
  while (at < in_flight.size() &&
         static_cast<std::uint16_t>(in_flight[at].index) != cqe.wqe_counter) {
    is_missing |= in_flight[at].is_signalled() || failed;
    ++at;
  }
  if (at == in_flight.size()) return nic.journal.fail("a send CQE of a WQE that is not in flight");
  if (is_missing && !cq.collapsed) return nic.journal.fail("a send CQE is missing");
  const Operation& operation = in_flight[at];
  if (cqe.sop_drop_qpn >> 24 != static_cast<std::uint32_t>(operation.opcode) &&
      operation.flaw != Flaw::bad_opcode) {
    return nic.journal.fail("a send CQE with the opcode of another WQE");
  }
  if (!is_error) {
    const bool has_count = operation.has_response() && !cq.collapsed;
    if (failed) nic.journal.fail("a WQE has succeeded behind one that failed");
    if (!operation.is_signalled()) nic.journal.fail("a CQE of a WQE that asked for none");
    if (has_count && cqe.byte_cnt != operation.bytes.size()) {
      nic.journal.fail("the byte count of a READ or atomic is wrong");
    }
    return release(at + 1, true);
  }
  const bool is_flush = syndrome == format::Syndrome::flushed;
  if (failed ? !is_flush : !may_fail(operation, syndrome)) {
    return nic.journal.fail("a WQE has failed with syndrome " +
                            std::to_string(static_cast<int>(syndrome)) + " and should not");
  }
  rules.doomed = true;
  // A collapsed queue shows the last of its CQEs: the one that failed may be any before.
  const bool is_known = !failed && !(cq.collapsed && is_flush);
  failed = true;
  if (is_known) release(at, true);
  if (!nic.journal.failed()) release(is_known ? 1 : at + 1, false);
}

// What was posted may have failed by this syndrome, as the first of its queue.
bool End::may_fail(const Operation& operation, format::Syndrome syndrome) const {
  using format::Syndrome;
  const bool names_target = operation.length != 0 && !operation.from_constants &&
                            (operation.is_write() || operation.has_response());
  switch (syndrome) {
    case Syndrome::transport_retry_exceeded:
      return rules.impatient || (rules.doomed && rules.exact != this);
    case Syndrome::rnr_retry_exceeded:
      return rules.rnr_retry != 7 && !rules.strict && operation.takes_receive();
    case Syndrome::flushed: return may_break();
    case Syndrome::remote_access:
      return operation.flaw == Flaw::bad_rkey || operation.flaw == Flaw::bad_range ||
             operation.flaw == Flaw::bad_keys || (peer->target_key_gone && names_target);
    case Syndrome::local_protection:
      return operation.flaw == Flaw::bad_lkey || (local_key_gone && !operation.pieces.empty());
    case Syndrome::remote_invalid_request:
      return operation.flaw == Flaw::too_long || operation.flaw == Flaw::unaligned;
    case Syndrome::remote_operation: return peer->local_key_gone && operation.is_send();
    case Syndrome::local_qp_operation: return operation.flaw == Flaw::bad_opcode;
    default: return false;
  }
}

bool End::may_fail_receive(format::Syndrome syndrome) const {
  using format::Syndrome;
  const Message* const message = peer->flow->next_message();
  const Flaw flaw = message == nullptr ? Flaw::none : message->flaw;
  switch (syndrome) {
    case Syndrome::flushed: return may_break();
    case Syndrome::local_length: return flaw == Flaw::too_long;
    case Syndrome::local_access:
      return flaw == Flaw::bad_rkey || flaw == Flaw::bad_range || target_key_gone;
    case Syndrome::local_protection: return local_key_gone;
    default: return false;
  }
}

void End::on_receive_cqe(const format::Cqe64& cqe) {
  Flow& theirs = *peer->flow;
  const bool is_error = opcode_of(cqe) == CqeOpcode::responder_error;
  const format::Syndrome syndrome = is_error ? syndrome_of(cqe) : format::Syndrome::none;
  nic.journal.note("receive CQE: end, counter, syndrome",
                   {id, cqe.wqe_counter, static_cast<std::uint64_t>(syndrome)});
  if (theirs.receives().empty()) return nic.journal.fail("a receive CQE, and no receive is posted");
  if (static_cast<std::uint16_t>(theirs.receives().front().index) != cqe.wqe_counter) {
    return nic.journal.fail("a receive CQE of another receive than the oldest");
  }
  --receive_cq->reserved;
  if (is_error) {
    const bool is_flush = syndrome == format::Syndrome::flushed;
    if (receive_failed ? !is_flush : !may_fail_receive(syndrome)) {
      return nic.journal.fail("a receive has failed with syndrome " +
                              std::to_string(static_cast<int>(syndrome)) + " and should not");
    }
    receive_failed = true;
    return theirs.flush_receive();
  }
  if (receive_failed) return nic.journal.fail("a receive has succeeded behind one that failed");
  const Message* const message = theirs.next_message();
  if (message == nullptr) return nic.journal.fail("a message was received that nobody has posted");
  check_delivery(cqe, *message);
  theirs.received();
}

void End::check_delivery(const format::Cqe64& cqe, const Message& message) {
  using format::Opcode;
  const CqeOpcode wanted = message.opcode == Opcode::send       ? CqeOpcode::responder_send
                           : message.opcode == Opcode::send_imm ? CqeOpcode::responder_send_imm
                                                                : CqeOpcode::responder_write_imm;
  const bool has_imm = message.opcode != Opcode::send;
  const bool is_right = opcode_of(cqe) == wanted && cqe.byte_cnt == message.length &&
                        (!has_imm || cqe.imm_inval_pkey == message.imm) &&
                        ((cqe.op_own & 2) != 0) == message.solicited &&
                        cqe.flags_rqpn == peer->qpn && cqe.srqn_uidx == id;
  if (!is_right) nic.journal.fail("a receive CQE says something else than its message");
  if (message.flaw != Flaw::none) nic.journal.fail("a message that is wrong was received");
}

}  // namespace gdakit::softnic::test::model

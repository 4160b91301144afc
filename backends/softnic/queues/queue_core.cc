#include "backends/softnic/queues/queue_core.h"

#include <algorithm>

#include "core/base/bits.h"

namespace gdakit::softnic {

// The value is judged by the counter as it was when the read began, which the record cannot be
// behind if it is written before each doorbell. The counter may have gone on by a whole queue
// since, and then what is old looks new.
bool QueueCore::poll_record(RecordRead& record, DmaAddress address, std::uint64_t& producer,
                            std::uint64_t depth) {
  if (!record.reading) {
    if (!record.wanted) return false;
    record.wanted = false;
    record.since = producer;
    record.op = port.read(&record.word, address, sizeof record.word);
    record.reading = true;
  }
  if (!done(record.op)) return false;
  record.reading = false;
  const auto value = static_cast<std::uint16_t>(record.word);
  const std::uint64_t advance = producer_advance(record.since, value, depth);
  const bool says_less = advance == 0 && value != static_cast<std::uint16_t>(record.since);
  record.behind |= record.rung && says_less;
  any_behind |= record.behind;
  producer = std::max(producer, record.since + advance);
  return true;
}

// The same, for a timeline.
bool QueueCore::post_told(QpCommon& qp, Cq& cq, format::Cqe64& cqe) {
  const std::uint64_t began_ns = NicTrace::now_ns();
  const std::uint64_t written_before = qp.counters.cqes;
  if (!post_untold(qp, cq, cqe)) return false;
  const bool is_written = qp.counters.cqes != written_before;
  const format::CqeOpcode opcode = format::cqe_opcode(cqe.op_own);
  const bool is_error =
      opcode == format::CqeOpcode::requester_error || opcode == format::CqeOpcode::responder_error;
  const std::uint8_t syndrome = is_error ? bit_cast<format::ErrorCqe>(cqe).syndrome : 0;
  const auto opcode_byte = static_cast<std::uint8_t>(opcode);
  if (is_written) {
    trace->cqe(qp.number, cqe.wqe_counter, opcode_byte, syndrome, began_ns);
  } else {
    trace->cqe_lost(qp.number, cqe.wqe_counter, opcode_byte, syndrome);
  }
  return true;
}

void QueueCore::note(QpCommon& qp, const QpError& error) {
  if (error.syndrome == format::Syndrome::none) return;
  if (qp.first_error.syndrome == format::Syndrome::none) qp.first_error = error;
  any_broken = true;
}

void QueueCore::fail(QpCommon& qp, const QpError& error, std::optional<EventKind> event) {
  if (qp.state == QpState::err) return;
  note(qp, error);
  qp.state = QpState::err;
  if (event) tell({*event, qp.number});
}

void QueueCore::fail_send_queue(QpCommon& qp, const QpError& error) {
  if (!has_requests(qp.state)) return;
  note(qp, error);
  qp.state = QpState::sqer;
}

}  // namespace gdakit::softnic

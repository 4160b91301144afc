#include "backends/softnic/queues/cq.h"

#include <cstring>

namespace gdakit::softnic {

Cq::Cq(CqNumber number, const CqAttributes& attributes, DmaPort& port, bool short_cqes)
    : port_(port),
      ordered_(port.ordered()),
      // Nobody looks at another part of the entry, or at how many there were.
      short_cqes_(short_cqes && attributes.collapsed && attributes.overrun_ignore),
      number_(number),
      attributes_(attributes) {}

MemoryRange Cq::entries() const {
  const std::uint32_t log_entries = attributes_.collapsed ? 0 : attributes_.log_entries;
  return {attributes_.entries, sizeof(format::Cqe64) << log_entries};
}

// Looks up how far the consumer is.
Cq::Posted Cq::make_room() {
  if (!reading_) {
    read_ = port_.read(&record_, attributes_.doorbell_record, sizeof record_);
    reading_ = true;
  }
  if (!done(read_)) return Posted::not_yet;
  reading_ = false;
  // The record holds the low 24 bits of the consumer index, which never passes the producer.
  const std::uint64_t behind = (producer_ - record_) & 0xffffff;
  if (behind >= capacity()) {
    overrun_ = true;
    return Posted::lost;
  }
  consumer_ = producer_ - behind;
  return Posted::written;
}

Cq::Posted Cq::post(format::Cqe64& cqe, std::uint64_t now_ns) {
  if (overrun_) return Posted::lost;
  // An earlier CQE that lands later would hide this one; a queue pair's own chain keeps the order.
  const bool shared = users > 1;
  if ((!ordered_ || shared) && !done(last_)) return Posted::not_yet;
  if (!attributes_.overrun_ignore && producer_ - consumer_ >= capacity()) {
    const Posted room = make_room();
    if (room != Posted::written) return room;
  }
  const bool owner = ((producer_ >> attributes_.log_entries) & 1) != 0;
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
  write(cqe);
  ++producer_;
  return Posted::written;
}

void Cq::write(const format::Cqe64& cqe) {
  const bool before = succeeded_;
  succeeded_ = format::cqe_opcode(cqe.op_own) < format::CqeOpcode::requester_error;
  if (short_cqes_ && before && succeeded_) {
    std::uint64_t tail;
    std::memcpy(&tail, reinterpret_cast<const std::byte*>(&cqe) + format::kCqeTailOffset,
                sizeof tail);
    last_ = port_.write(attributes_.entries + format::kCqeTailOffset, &tail, sizeof tail);
    return;
  }
  const std::uint64_t slot = attributes_.collapsed ? 0 : producer_ & (capacity() - 1);
  last_ = port_.write_cqe(attributes_.entries + slot * sizeof cqe, cqe);
}

}  // namespace gdakit::softnic

#include "backends/softnic/transport/core.h"

#include <algorithm>
#include <cstring>

#include "core/base/assert.h"

namespace gdakit::softnic {

BufferPool::BufferPool(std::uint32_t count, std::uint32_t size)
    : memory_(std::make_unique<std::uint8_t[]>(std::size_t{count} * size)) {
  free_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) free_.push_back(&memory_[std::size_t{i} * size]);
}

std::uint8_t* BufferPool::take() {
  if (free_.empty()) return nullptr;
  std::uint8_t* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

Core::Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, bool short_cqes)
    : port(dma_port),
      wire(packet_wire),
      ordered(dma_port.ordered()),
      psn_bytes(packet_wire.psn_bytes()),
      mtu(packet_wire.mtu() - packet_wire.mtu() % psn_bytes),
      value_mtu(packet_wire.value_mtu()),
      short_cqes_(short_cqes),
      buffers_(buffers, packet_wire.value_mtu()) {}

bool Core::send_now(const Packet& packet) {
  if (port.lost() || !wire.send(packet)) return false;
  ++counters.packets_sent;
  counters.bytes_sent += packet.header.payload_size;
  return true;
}

bool Core::send(Qp& qp, Packet& packet) {
  if (packet.header.fragment_count != 0 && !wire.by_reference(packet)) {
    return send_by_value(qp, packet);
  }
  return qp.outbox.empty() && send_now(packet);
}

bool Core::send_by_value(Qp& qp, Packet& packet) {
  GDAKIT_ASSERT(packet.header.payload_size <= value_mtu);
  if (qp.outbox.full()) return false;
  std::uint8_t* buffer = buffers_.take();
  if (buffer == nullptr) return false;
  std::uint64_t at = 0;
  DmaOp op;
  for (std::uint32_t i = 0; i < packet.header.fragment_count; ++i) {
    const Fragment& fragment = packet.fragments[i];
    const DmaOp read = port.read(buffer + at, fragment.address, fragment.size);
    if (read.id != 0) op = read;
    at += fragment.size;
  }
  // Reads have no order even on an ordered port.
  if (op.id != 0) op = port.read_fence();
  packet.header.fragment_count = 0;
  packet.payload = buffer;
  if (op.id == 0 && qp.outbox.empty()) {
    // Without room the payload is read again later: a peer that takes nothing must not keep buffers
    // from others.
    const bool sent = send_now(packet);
    buffers_.give_back(buffer);
    return sent;
  }
  Outgoing& outgoing = qp.outbox.push();
  outgoing.packet = packet;
  outgoing.buffer = buffer;
  outgoing.op = op;
  return true;
}

Turn Core::drain_outbox(Qp& qp) {
  Turn turn;
  while (!qp.outbox.empty()) {
    Outgoing& outgoing = qp.outbox.front();
    // A queue pair that has failed sends nothing any more, and must not keep buffers from others.
    const bool gone = done(outgoing.op) && (qp.state == QpState::err || send_now(outgoing.packet));
    if (!gone) {
      turn.pending = true;
      break;
    }
    buffers_.give_back(outgoing.buffer);
    qp.outbox.pop();
    turn.worked = true;
  }
  return turn;
}

void Core::give_back_buffers(Qp& qp) {
  for (; !qp.outbox.empty(); qp.outbox.pop()) buffers_.give_back(qp.outbox.front().buffer);
}

// The value is judged by the counter as it was when the read began, which the record cannot be
// behind if it is written before each doorbell. The counter may have gone on by a whole queue
// since, and then what is old looks new.
bool Core::poll_record(RecordRead& record, DmaAddress address, std::uint64_t& producer,
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
  producer = std::max(producer, record.since + advance);
  return true;
}

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

Packet make_packet(const Qp& qp, PacketOpcode opcode, std::uint32_t psn) {
  Packet packet;
  packet.header.opcode = opcode;
  packet.header.destination = qp.path.remote_endpoint;
  packet.header.destination_qpn = qp.path.remote_qpn;
  packet.header.source_qpn = qp.number;
  packet.header.psn = psn;
  return packet;
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

DmaOp PayloadReader::move_to(Core& core, DmaAddress to, std::uint64_t size) {
  DmaOp last;
  const auto keep = [&last](DmaOp op) {
    if (op.id != 0) last = op;
  };
  if (packet_.header.fragment_count == 0) {
    keep(core.port.write(to, packet_.payload + offset_, size));
    offset_ += size;
    return last;
  }
  while (size != 0) {
    const Fragment& source = packet_.fragments[fragment_];
    const std::uint64_t piece = std::min(size, source.size - offset_);
    keep(core.port.copy(to, source.address + offset_, piece));
    to = to + piece;
    size -= piece;
    offset_ += piece;
    if (offset_ == source.size) {
      ++fragment_;
      offset_ = 0;
    }
  }
  return last;
}

}  // namespace gdakit::softnic

#include "backends/softnic/wire/trace_wire.h"

namespace gdakit::softnic {
namespace {

TraceRecord record_of(TraceKind kind, const Packet& packet, QpNumber queue, Endpoint peer) {
  const PacketHeader& header = packet.header;
  TraceRecord record;
  record.kind = kind;
  record.time_ns = NicTrace::now_ns();
  record.queue = queue;
  record.size = header.payload_size;
  record.of.opcode = static_cast<std::uint32_t>(header.opcode);
  record.of.detail = header.psns;
  record.of.psn = header.psn;
  record.of.peer = static_cast<std::int32_t>(peer);
  return record;
}

}  // namespace

bool TraceWire::send(const Packet& packet) {
  if (!inner().send(packet)) return false;
  TraceRecord record =
      record_of(TraceKind::packet_out, packet, packet.sender, packet.header.destination);
  record.index = packet.wqe;
  trace_.add(record);
  return true;
}

const Packet* TraceWire::receive() {
  const Packet* const packet = inner().receive();
  if (packet == nullptr) return nullptr;
  const PacketHeader& header = packet->header;
  trace_.add(record_of(TraceKind::packet_in, *packet, header.destination_qpn, header.source));
  return packet;
}

}  // namespace gdakit::softnic

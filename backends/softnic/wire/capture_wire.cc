#include "backends/softnic/wire/capture_wire.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "backends/softnic/wire/packet_parts.h"
#include "backends/softnic/wire/roce_translate.h"
#include "core/base/bits.h"
#include "core/base/wall_clock.h"

namespace gdakit::softnic {
namespace {

// Whether encode() takes it. The payload is not looked at.
bool has_roce_form(const Packet& part) {
  if (!roce::has_transport(part.header.service)) return false;
  Packet headers = part;
  headers.header.fragment_count = 0;
  const roce::RocePacket packet = roce::to_roce(headers);
  const auto extensions = roce::extensions_of(packet.opcode, packet.solicited);
  const std::size_t payload = part.header.payload_size;
  const roce::PayloadLimits limits = roce::payload_limits(packet.opcode);
  if (!extensions || payload < limits.least || payload > limits.most) return false;
  const std::size_t around = sizeof(roce::Bth) + extensions->bytes() + roce::kIcrcBytes;
  return around + round_up(payload, 4) <= roce::kMaxPacketBytes;
}

// Leaves of a frame what comes before its payload's last `unknown` bytes: they are not there, and
// what was computed over them is not known.
void cut(std::vector<std::uint8_t>& frame, const roce::UdpWay& way, std::size_t payload,
         std::size_t unknown) {
  const std::size_t padding = round_up(payload, 4) - payload;
  frame.resize(frame.size() - roce::kIcrcBytes - padding - unknown);
  constexpr std::size_t kUdpChecksum = 40 + 6;  // behind IPv6's header; 0: there is none
  if (way.source.is_v6) frame[kUdpChecksum] = frame[kUdpChecksum + 1] = 0;
}

}  // namespace

UdpAddress capture_address(Endpoint endpoint) {
  const std::uint32_t host = endpoint + 1;
  UdpAddress address;
  address.ip.bytes = {10, static_cast<std::uint8_t>(host >> 16),
                      static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)};
  return address;
}

bool read_host_memory(const Fragment& fragment, std::uint8_t* out) {
  if (is_gpu(fragment.address)) return false;
  const auto address = static_cast<std::uintptr_t>(plain_address(fragment.address));
  std::memcpy(out, reinterpret_cast<const void*>(address), fragment.size);
  return true;
}

CaptureWire::CaptureWire(std::unique_ptr<Wire> inner, std::unique_ptr<CaptureFile> file,
                         AddressOf address, ReadFragment read)
    : WrappedWire(std::move(inner)),
      file_(std::move(file)),
      address_(std::move(address)),
      read_(std::move(read)) {}

// What was sent is published by flush(), and its memory stays until the peer has answered: it can
// still be read.
bool CaptureWire::send(const Packet& packet) {
  if (!inner().send(packet)) return false;
  capture(packet, {endpoint(), packet.header.destination, true});
  return true;
}

const Packet* CaptureWire::receive() {
  const Packet* const packet = inner().receive();
  if (packet != nullptr) capture(*packet, {packet->header.source, endpoint(), false});
  return packet;
}

void CaptureWire::capture(const Packet& packet, const Ends& ends) {
  const std::uint64_t time_ns = wall_ns();
  const std::uint32_t parts = part_count(packet);
  if (parts == 0) file_->drop();
  for (std::uint32_t i = 0; i < parts; ++i) capture_part(part_of(packet, i), ends, time_ns);
}

void CaptureWire::capture_part(Packet part, const Ends& ends, std::uint64_t time_ns) {
  const std::uint32_t size = part.header.payload_size;
  // A NIC that is faster than the file is not to read payload for nothing.
  if (file_->is_full_for(size) || !has_roce_form(part)) return file_->drop();
  const std::uint32_t known = read_payload(part);
  const roce::UdpWay way = way_between(address_(ends.source), address_(ends.destination));
  const roce::RocePacket packet = roce::to_roce(part);
  encoded_.resize(roce::size_of(packet));
  roce::encode(packet, way, encoded_);
  std::vector<std::uint8_t> frame = roce::frame_of(way, encoded_, part.header.traffic_class);
  const std::string comment = comment_of(part, ends);
  pcapng::Captured captured;
  captured.time_ns = time_ns;
  captured.direction = ends.outbound ? pcapng::Direction::outbound : pcapng::Direction::inbound;
  captured.comment = comment;
  captured.original_bytes = static_cast<std::uint32_t>(frame.size());
  if (known != size) cut(frame, way, size, size - known);
  static_cast<void>(file_->add(captured, frame));
}

// Brings the payload by value; returns how much of it, from its first byte on, is known.
std::uint32_t CaptureWire::read_payload(Packet& part) {
  const std::uint32_t size = part.header.payload_size;
  if (part.header.fragment_count == 0) return size;
  payload_.assign(size, 0);
  std::uint32_t known = 0;
  for (std::uint8_t i = 0; i < part.header.fragment_count; ++i) {
    const Fragment& fragment = part.fragments[i];
    if (!read_(fragment, payload_.data() + known)) break;
    known += static_cast<std::uint32_t>(fragment.size);
  }
  part.header.fragment_count = 0;
  part.payload = payload_.data();
  return known;
}

std::string CaptureWire::comment_of(const Packet& part, const Ends& ends) const {
  std::array<char, 64> text;
  const auto print = [&text](const char* format, auto... values) {
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
  };
  std::string comment = print("PE %u -> PE %u", ends.source, ends.destination);
  if (!ends.outbound || part.sender == 0) return comment;
  comment += print(", QP 0x%06x", part.sender);
  if (!is_response(part.header.opcode)) comment += print(", WQE %u", part.wqe);
  return comment;
}

}  // namespace gdakit::softnic

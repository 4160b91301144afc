#include "tests/softnic/datagram_rig.h"

namespace gdakit::softnic::test {
namespace {

constexpr Endpoint kKnown = 10;

RigOptions with_addresses(RigOptions options, Addresses& addresses) {
  options.service = ServiceType::ud;
  options.engine.addresses = &addresses;
  options.settings.path.qkey = kQkey;
  return options;
}

format::AvSegment make_av(const PortAddress& to, QpNumber qpn, std::uint32_t qkey) {
  format::AvSegment av{};
  av.qkey = Be32{qkey};
  av.dqp_dct = Be32{qpn};
  av.stat_rate_sl = 5;
  av.rlid = Be16{to.lid};
  av.tclass = 0x20;
  std::memcpy(av.rgid, to.gid.data(), sizeof av.rgid);
  return av;
}

std::vector<format::Segment> segments_of(const format::AvSegment& av, std::size_t bytes) {
  std::vector<format::Segment> segments(bytes / format::kSegmentBytes);
  std::memcpy(segments.data(), &av, bytes);
  return segments;
}

}  // namespace

std::optional<Endpoint> Addresses::endpoint_of(const AddressVector& address) {
  asked.push_back(address);
  for (Endpoint endpoint = 0; endpoint < kKnown; ++endpoint) {
    const PortAddress known = address_of(endpoint);
    const bool is_this =
        kind_ == AddressKind::infiniband ? known.lid == address.lid : known.gid == address.gid;
    if (is_this) return endpoint;
  }
  return std::nullopt;
}

PortAddress Addresses::address_of(Endpoint endpoint) {
  PortAddress address;
  const auto host = static_cast<std::uint8_t>(endpoint + 1);
  if (kind_ == AddressKind::ipv4) {
    address.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 7, host};
  } else {
    address.gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, host};
  }
  if (kind_ == AddressKind::infiniband) address.lid = static_cast<std::uint16_t>(0x100 + host);
  return address;
}

std::vector<format::Segment> short_av(const PortAddress& to, QpNumber qpn, std::uint32_t qkey) {
  return segments_of(make_av(to, qpn, qkey), format::kShortAvBytes);
}

std::vector<format::Segment> long_av(const PortAddress& to, QpNumber qpn, std::uint32_t qkey) {
  return segments_of(make_av(to, format::kExtendedAv | qpn, qkey), sizeof(format::AvSegment));
}

DatagramRig::DatagramRig(AddressKind kind, RigOptions options)
    : WithAddresses{Addresses(kind)}, EngineRig(with_addresses(std::move(options), addresses)) {}

Wqe DatagramRig::datagram(std::size_t from, std::uint32_t size) {
  return datagram_of(long_av(address_of(b), b.qpn, kQkey), from, size);
}

Wqe DatagramRig::datagram_of(const std::vector<format::Segment>& av, std::size_t from,
                             std::uint32_t size) {
  Wqe wqe{.opcode = format::Opcode::send, .body = av};
  if (size != 0) wqe.body.push_back(a.data(from, size));
  return wqe;
}

void DatagramRig::post_receive(std::size_t offset, std::uint32_t size) {
  b.post_receive({format::data(b.heap_address(offset), Be32{b.key}, format::kGrhBytes + size)});
}

void DatagramRig::ring_and_run() {
  a.ring();
  ASSERT_TRUE(run());
}

}  // namespace gdakit::softnic::test

#include "tests/softnic/fuzz_dc.h"

#include <cstring>

#include "backends/softnic/transport/dc_initiator.h"
#include "core/format/address_vector.h"

namespace gdakit::softnic::test {
namespace {

constexpr Endpoint kEndpoints = 2;

// One that an initiator may have by now, or had.
std::uint64_t some_connection(Input& input) {
  const std::uint32_t epoch = input.below(8), count = input.below(8);
  return dc_connection(epoch, count, input.below(4) == 0);
}

}  // namespace

std::optional<Endpoint> FuzzAddresses::endpoint_of(const AddressVector& address) {
  const Endpoint endpoint = address.gid.back();
  return endpoint < kEndpoints ? std::optional(endpoint) : std::nullopt;
}

PortAddress FuzzAddresses::address_of(Endpoint endpoint) {
  PortAddress address;
  address.gid.back() = static_cast<std::uint8_t>(endpoint);
  return address;
}

std::vector<format::Segment> some_av(Input& input, const FuzzSide& peer) {
  format::AvSegment av{};
  const bool is_odd = input.below(16) == 0;
  format::set_dc_key(av, is_odd ? input.take<std::uint64_t>() : kFuzzDcKey);
  const DctNumber target = is_odd ? input.below(32) : peer.dct;
  av.dqp_dct = Be32{target | format::kExtendedAv};
  av.rgid[sizeof av.rgid - 1] =
      static_cast<std::uint8_t>(is_odd ? input.below(4) : peer.wire->endpoint());
  std::vector<format::Segment> segments(sizeof av / sizeof(format::Segment));
  std::memcpy(segments.data(), &av, sizeof av);
  return segments;
}

void make_dc(Input& input, const FuzzSide& side, const FuzzSide& peer, PacketHeader& header) {
  const bool answers = is_response(header.opcode);
  header.destination_qpn = answers ? peer.qpn : peer.dct;
  header.dc_source = answers ? side.dct : side.qpn;
  if (input.below(8) == 0) header.dc_source = input.below(16);
  const FuzzSide& initiator = answers ? peer : side;
  header.psn = psn_add(initiator.engine.query_qp(initiator.qpn)->last_acked_psn, input.below(4));
  if (header.opcode == PacketOpcode::dc_connect) {
    const std::uint64_t key = input.below(8) == 0 ? input.take<std::uint64_t>() : kFuzzDcKey;
    header.dcceth = {key, some_connection(input)};
  }
  if (header.opcode == PacketOpcode::acknowledge) {
    header.aeth.msn = static_cast<std::uint32_t>(some_connection(input)) & kMsnMask;
  }
}

}  // namespace gdakit::softnic::test

#include "backends/softnic/wire/roce_packet.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/softnic/wire/roce_translate.h"
#include "backends/softnic/wire/wire.h"
#include "tests/fuzz/packets.h"
#include "tests/roce/packets.h"

namespace gdakit::fuzz {
namespace {

using namespace softnic;
using roce::Damage;
using roce::RocePacket;

// With the ICRC that belongs to its other bytes. Too short for one: as it is.
Seed with_icrc(Input datagram) {
  Seed bytes(datagram.begin(), datagram.end());
  if (bytes.size() < sizeof(roce::Bth) + roce::kIcrcBytes) return bytes;
  roce::Bth bth;
  std::memcpy(&bth, bytes.data(), sizeof bth);
  roce::Icrc icrc(roce::test::some_way(), bytes.size());
  icrc.add_bth(bth);
  const std::size_t end = bytes.size() - roce::kIcrcBytes;
  icrc.add(std::span(bytes).subspan(sizeof bth, end - sizeof bth));
  const std::uint32_t value = icrc.value();
  std::memcpy(bytes.data() + end, &value, sizeof value);
  return bytes;
}

// Both are bytes that encode() has made: reserved bits and padding are as it makes them.
std::string check_round_trip(const RocePacket& packet) {
  const roce::UdpWay way = roce::test::some_way();
  const roce::test::Bytes once = roce::test::encoded(packet, way);
  RocePacket again;
  if (roce::decode(once, way, again) != Damage::none) return "what encode() made is damaged";
  if (roce::test::encoded(again, way) != once) return "decode() and encode() change a packet";
  if (again.opcode != packet.opcode || again.psn != packet.psn ||
      !std::ranges::equal(again.payload, packet.payload)) {
    return "decode() and encode() lose a field";
  }
  return {};
}

std::string check_contract(const Packet& packet, Input datagram) {
  const PacketHeader& header = packet.header;
  if (header.opcode >= PacketOpcode::count) return "a packet's opcode is no enumerator";
  if (!roce::has_transport(header.service)) return "a packet is of a service that RoCE has not";
  if ((header.psn & ~kPsnMask) != 0) return "a PSN of more than 24 bits";
  if (header.fragment_count != 0 || header.psns != 1) return "a datagram by reference";
  const bool has_aeth = extension_of(header.opcode) == ExtensionKind::aeth;
  if (has_aeth && header.aeth.acknowledge >= Acknowledge::count) return "an unknown acknowledge";
  if (header.payload_size == 0) return {};
  const std::uint8_t* const end = datagram.data() + datagram.size();
  const bool inside =
      packet.payload >= datagram.data() && packet.payload + header.payload_size <= end;
  return inside ? "" : "a payload that lies outside its datagram";
}

std::string check_translation(const RocePacket& packet, Input datagram) {
  Packet translated;
  if (roce::from_roce(packet, translated) != roce::Unfit::none) return {};
  if (std::string wrong = check_contract(translated, datagram); !wrong.empty()) return wrong;
  Packet again;
  if (roce::from_roce(roce::to_roce(translated), again) != roce::Unfit::none) {
    return "to_roce() makes what from_roce() does not take";
  }
  const bool same = again.header.opcode == translated.header.opcode &&
                    again.header.psn == translated.header.psn &&
                    again.header.payload_size == translated.header.payload_size;
  return same ? "" : "from_roce() and to_roce() lose a field";
}

std::string play_datagram(Input datagram) {
  RocePacket packet;
  if (roce::decode(datagram, roce::test::some_way(), packet) != Damage::none) return {};
  std::string wrong = check_round_trip(packet);
  return wrong.empty() ? check_translation(packet, datagram) : wrong;
}

}  // namespace

std::string play_roce_packet(Input input) {
  std::string wrong = play_datagram(input);
  if (!wrong.empty() || input.size() > roce::kMaxPacketBytes) return wrong;
  return play_datagram(with_icrc(input));
}

std::vector<Seed> roce_packet_seeds() {
  const std::vector<std::uint8_t> bytes(37, 0xab);
  std::vector<Seed> seeds;
  for (const std::uint8_t opcode : roce::test::opcodes()) {
    const roce::PayloadLimits limits = roce::payload_limits(opcode);
    const std::size_t size = std::clamp(bytes.size(), limits.least, limits.most);
    const RocePacket packet = roce::test::full_packet(opcode, std::span(bytes).first(size));
    seeds.push_back(roce::test::encoded(packet, roce::test::some_way()));
  }
  return seeds;
}

}  // namespace gdakit::fuzz

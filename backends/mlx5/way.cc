#include "backends/mlx5/way.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "backends/mlx5/gids.h"

namespace gdakit::mlx5 {
namespace {

using format::prm::Ads;

constexpr std::uint32_t kFirstSourcePort = 0xc000;
constexpr int kSourcePortBits = 14;  // of those from there on
// Of AvSegment::grh_gid_fl.
constexpr std::uint32_t kGrhBit = std::uint32_t{1} << 30;
constexpr int kGidIndexShift = 20;

// The destination's MAC address, which who does without the kernel's address handles has to give
// the NIC: the kernel finds it for such a handle.
Result<std::array<std::uint8_t, 6>> mac_of(const OpenNic& nic, const PortAddress& peer) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = nic.port();
  std::ranges::copy(peer.gid, attributes.grh.dgid.raw);
  attributes.grh.sgid_index = nic.gid_index();
  attributes.grh.hop_limit = kHopLimit;
  ibv_ah* const handle = nic.libraries().create_ah(nic.pd(), &attributes);
  if (handle == nullptr) {
    const Error why = nic.failure("ibv_create_ah", errno);
    return Error(why.code(),
                 why.message() + "; from GID " + text_of(nic.address().gid) + " (index " +
                     std::to_string(nic.gid_index()) + ") to " + text_of(peer.gid) +
                     ": `ping` shows whether there is a way, `show_gids` whether the GID has moved",
                 why.system_code());
  }
  mlx5dv_ah inside{};
  mlx5dv_obj objects{};
  objects.ah.in = handle;
  objects.ah.out = &inside;
  const int code = nic.libraries().init_obj(&objects, MLX5DV_OBJ_AH);
  std::array<std::uint8_t, 6> mac{};
  if (code == 0 && inside.av != nullptr) std::ranges::copy(inside.av->rmac, mac.begin());
  nic.libraries().destroy_ah(handle);
  const std::string call = "mlx5dv_init_obj of the address handle";
  if (code != 0) return nic.failure(call, code);
  if (inside.av == nullptr) return nic.wrong_answer(call, "no address");
  if (mac == std::array<std::uint8_t, 6>{}) {
    return nic.wrong_answer(call, "a MAC address of zeros, which no port has");
  }
  return mac;
}

// Whether InfiniBand's packets between the two need a global routing header.
bool needs_grh(const PortAddress& one, const PortAddress& other) {
  constexpr std::size_t kPrefixBytes = 8;
  return one.needs_grh != 0 || other.needs_grh != 0 ||
         !std::equal(one.gid.begin(), one.gid.begin() + kPrefixBytes, other.gid.begin());
}

std::uint64_t big_endian(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

// Both numbers count up together from one queue of two PEs to the next, so that neither their
// difference nor what differs in their bits says which queue it is.
std::uint16_t source_port_of(std::uint32_t number, std::uint32_t peer_number) {
  constexpr int kQpnBits = 24;
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const std::uint64_t both = std::uint64_t{number} << kQpnBits | peer_number;
  return static_cast<std::uint16_t>(kFirstSourcePort | both * kGolden >> (64 - kSourcePortBits));
}

std::uint16_t nth_source_port(const Way& way, std::uint32_t nth) {
  if (way.source_port == 0) return 0;
  return static_cast<std::uint16_t>(kFirstSourcePort | (way.source_port + nth));
}

bool is_ethernet(const OpenNic& nic) { return nic.address().link_layer == IBV_LINK_LAYER_ETHERNET; }
bool is_roce_v2(const OpenNic& nic) {
  return is_ethernet(nic) && nic.address().gid_type == IBV_GID_TYPE_ROCE_V2;
}

Result<Way> find_way(const OpenNic& nic, const PortAddress& to, std::uint32_t number,
                     std::uint32_t peer_number) {
  Way way{.to = to};
  if (!is_ethernet(nic)) {
    way.has_grh = needs_grh(nic.address(), to);
    return way;
  }
  const auto mac = mac_of(nic, to);
  if (!mac) return mac.error();
  way.mac = *mac;
  if (is_roce_v2(nic)) way.source_port = source_port_of(number, peer_number);
  return way;
}

void write_class(const OpenNic& nic, PathWriter path) {
  if (is_ethernet(nic)) return write_ethernet_class<Ads>(nic, path);
  path.set(Ads::sl, nic.service_level());
}

void write_way(const OpenNic& nic, const Way& way, PathWriter path) {
  path.set(Ads::vhca_port_num, nic.port());
  write_class(nic, path);
  if (is_ethernet(nic)) {
    path.set(Ads::rmac_47_32, big_endian(way.mac.data(), 2));
    path.set(Ads::rmac_31_0, big_endian(way.mac.data() + 2, 4));
    path.set(Ads::udp_sport, way.source_port);
  } else {
    path.set(Ads::rlid, way.to.lid);
    path.set(Ads::grh, way.has_grh ? 1 : 0);
    if (!way.has_grh) return;
    path.set(Ads::tclass, nic.traffic_class());
  }
  path.set(Ads::src_addr_index, nic.gid_index());
  path.set(Ads::hop_limit, kHopLimit);
  std::ranges::copy(way.to.gid, path.at(Ads::rgid_rip).begin());
}

format::AvSegment vector_of(const OpenNic& nic, const Way& way) {
  format::AvSegment vector{};
  if (is_ethernet(nic)) {
    vector.stat_rate_sl = static_cast<std::uint8_t>(nic.service_level() << 1);  // the priority
    vector.rlid = Be16{way.source_port};
    std::ranges::copy(way.mac, vector.rmac);
  } else {
    vector.stat_rate_sl = nic.service_level();
    vector.rlid = Be16{way.to.lid};
    if (!way.has_grh) return vector;
  }
  vector.tclass = nic.traffic_class();
  vector.hop_limit = kHopLimit;
  const std::uint32_t gid_index = nic.gid_index();
  vector.grh_gid_fl = Be32{(way.has_grh ? kGrhBit : 0) | gid_index << kGidIndexShift};
  std::ranges::copy(way.to.gid, vector.rgid);
  return vector;
}

}  // namespace gdakit::mlx5

#include "backends/softnic/uverbs/cm/commands_query.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <span>

#include "backends/softnic/uverbs/qp_values.h"
#include "backends/softnic/uverbs/transition_masks.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint16_t kPkey = kDefaultPartition;
constexpr std::uint8_t kExactly = 2;    // selectors of a path record
constexpr std::uint8_t kRate = 18;      // enum ib_rate: 200 Gb/s
constexpr std::uint8_t kLifetime = 16;  // 0.27 s, as the kernel says of RoCE

template <class To>
void put_address(const IpPort& address, To& to) {
  const std::vector<std::uint8_t> bytes = sockaddr_of(address);
  std::memcpy(&to, bytes.data(), std::min(bytes.size(), sizeof to));
}

std::uint16_t address_bytes(const IpPort& address) {
  return static_cast<std::uint16_t>(sockaddr_of(address).size());
}

// Nothing has been said of an identifier that is new.
bool is_unset(const IpPort& address) { return address == IpPort{}; }

bool has_route(const IdState& state) {
  return state.state == Id::State::route_resolved || state.state == Id::State::connecting;
}

std::uint64_t guid_of(const Spec& spec, int nic) { return htobe64(Identity(spec, nic).guid()); }

ib_user_path_rec path_record(const Way& way) {
  ib_user_path_rec path{};
  std::copy(way.destination.begin(), way.destination.end(), path.dgid);
  std::copy(way.source.begin(), way.source.end(), path.sgid);
  path.dlid = htobe16(way.destination_lid);
  path.slid = htobe16(way.source_lid);
  path.reversible = 1;
  path.mtu = way.mtu_code;
  path.pkey = htobe16(kPkey);
  path.hop_limit = kHopLimit;
  path.traffic_class = way.traffic_class;
  path.numb_path = 1;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.rate = kRate;
  path.packet_life_time = kLifetime;
  return path;
}

// A path record as the subnet administrator has it: 64 bytes.
void write_path(const Way& way, std::span<std::uint8_t, 64> to) {
  std::copy(way.destination.begin(), way.destination.end(), to.begin() + 8);
  std::copy(way.source.begin(), way.source.end(), to.begin() + 24);
  const auto put16 = [&to](std::size_t at, std::uint16_t value) {
    to[at] = static_cast<std::uint8_t>(value >> 8);
    to[at + 1] = static_cast<std::uint8_t>(value);
  };
  put16(40, way.destination_lid);
  put16(42, way.source_lid);
  to[47] = kHopLimit;
  to[48] = way.traffic_class;
  to[49] = 0x80 | 1;  // reversible, one path
  put16(50, kPkey);
  to[54] = static_cast<std::uint8_t>(kExactly << 6 | way.mtu_code);
  to[55] = kExactly << 6 | kRate;
  to[56] = kExactly << 6 | kLifetime;
}

void put_gid(const Gid& gid, std::uint16_t port, __kernel_sockaddr_storage& to) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&to);
  std::memcpy(bytes, &kAfIb, sizeof kAfIb);
  bytes[2] = kPkey >> 8;
  bytes[3] = kPkey & 0xff;
  std::copy(gid.begin(), gid.end(), bytes + 8);
  bytes[30] = static_cast<std::uint8_t>(port >> 8);
  bytes[31] = static_cast<std::uint8_t>(port);
}

void to_init(const IdState& state, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask = attr::kState | attr::kPkeyIndex | attr::kPort;
  attributes.port_num = 1;
  if (state.kind == QpKind::ud) {
    attributes.qp_attr_mask |= attr::kQkey;
    attributes.qkey = kUdpQkey;
    return;
  }
  attributes.qp_attr_mask |= attr::kAccess;
  if (!state.agreed) return;
  attributes.qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
  if (state.agreed->responder_resources != 0) {
    attributes.qp_access_flags |= IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
  }
}

void to_rtr(const Spec& spec, const IdState& state, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask =
      attr::kState | attr::kPath | attr::kPathMtu | attr::kRemoteQpn | attr::kReceivePsn;
  attributes.ah_attr = address_handle(spec, state.nic, state.way);
  attributes.path_mtu = state.agreed->mtu_code;
  attributes.dest_qp_num = state.agreed->peer_qpn;
  attributes.rq_psn = state.agreed->receive_psn;
  if (state.kind != QpKind::rc) return;
  attributes.qp_attr_mask |= attr::kMaxPeerReads | attr::kMinRnrTimer;
  attributes.max_dest_rd_atomic = state.agreed->responder_resources;
}

void to_rts(const IdState& state, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask = attr::kState | attr::kSendPsn;
  attributes.sq_psn = state.agreed->send_psn;
  if (state.kind != QpKind::rc) return;
  attributes.qp_attr_mask |= attr::kTimeout | attr::kRetryCount | attr::kRnrRetry | attr::kMaxReads;
  attributes.timeout = state.agreed->ack_timeout;
  attributes.retry_cnt = state.agreed->retry_count;
  attributes.rnr_retry = state.agreed->rnr_retry_count;
  attributes.max_rd_atomic = state.agreed->initiator_depth;
}

}  // namespace

rdma_ucm_query_route_resp route_of(const Spec& spec, const IdState& state) {
  rdma_ucm_query_route_resp route{};
  if (!is_unset(state.source)) put_address(state.source, route.src_addr);
  if (!is_unset(state.destination)) put_address(state.destination, route.dst_addr);
  if (state.nic < 0) return route;
  route.node_guid = guid_of(spec, state.nic);
  route.port_num = 1;
  route.ibdev_index = static_cast<std::uint32_t>(state.nic);
  route.ib_route[0] = path_record(state.way);
  route.num_paths = has_route(state) ? 1 : 0;
  return route;
}

rdma_ucm_query_addr_resp addresses_of(const Spec& spec, const IdState& state) {
  rdma_ucm_query_addr_resp addresses{};
  if (!is_unset(state.source)) {
    put_address(state.source, addresses.src_addr);
    addresses.src_size = address_bytes(state.source);
  }
  if (!is_unset(state.destination)) {
    put_address(state.destination, addresses.dst_addr);
    addresses.dst_size = address_bytes(state.destination);
  }
  if (state.nic < 0) return addresses;
  addresses.node_guid = guid_of(spec, state.nic);
  addresses.port_num = 1;
  addresses.pkey = kPkey;
  addresses.ibdev_index = static_cast<std::uint32_t>(state.nic);
  return addresses;
}

rdma_ucm_query_addr_resp gids_of(const Spec& spec, const IdState& state) {
  rdma_ucm_query_addr_resp addresses = addresses_of(spec, state);
  addresses.src_addr = addresses.dst_addr = {};
  addresses.src_size = addresses.dst_size = kSockaddrIbBytes;
  put_gid(state.way.source, state.source.port, addresses.src_addr);
  put_gid(state.way.destination, state.destination.port, addresses.dst_addr);
  return addresses;
}

std::vector<std::uint8_t> paths_of(const IdState& state) {
  rdma_ucm_query_path_resp head{};
  head.num_paths = has_route(state) ? 1 : 0;
  ib_path_rec_data path{};
  path.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  std::array<std::uint8_t, sizeof path.path_rec> record{};
  write_path(state.way, record);
  std::memcpy(path.path_rec, record.data(), record.size());
  std::vector<std::uint8_t> bytes(sizeof head + head.num_paths * sizeof path);
  std::memcpy(bytes.data(), &head, sizeof head);
  if (head.num_paths != 0) std::memcpy(bytes.data() + sizeof head, &path, sizeof path);
  return bytes;
}

ib_uverbs_ah_attr address_handle(const Spec& spec, int nic, const Way& way) {
  ib_uverbs_ah_attr to{};
  to.port_num = 1;
  to.dlid = way.destination_lid;
  const Identity identity(spec, nic);
  if (identity.link() == LinkLayer::infiniband && !is_multicast(way.destination)) return to;
  to.is_global = 1;
  std::copy(way.destination.begin(), way.destination.end(), to.grh.dgid);
  to.grh.sgid_index = static_cast<std::uint8_t>(identity.gids() - 1);
  to.grh.hop_limit = kHopLimit;
  to.grh.traffic_class = way.traffic_class;
  return to;
}

int qp_attributes(const Spec& spec, const IdState& state, std::uint32_t qp_state,
                  ib_uverbs_qp_attr& attributes) {
  attributes = {};
  attributes.qp_state = qp_state;
  if (state.nic < 0) return EINVAL;
  // Datagrams, and connections that there are none of yet.
  if (qp_state == verbs_state(QpState::init)) return to_init(state, attributes), 0;
  if (!state.agreed || state.kind == QpKind::ud) return EINVAL;
  if (qp_state == verbs_state(QpState::rtr)) return to_rtr(spec, state, attributes), 0;
  if (qp_state == verbs_state(QpState::rts)) return to_rts(state, attributes), 0;
  return EINVAL;
}

}  // namespace gdakit::softnic::uverbs::cm

// The way from a NIC's port to another one: what commands that connect a queue pair of RC say of
// it, and what WQEs of DC say, which have an address vector each.
#pragma once

#include <array>
#include <cstdint>

#include "backends/mlx5/open_nic.h"
#include "core/format/address_vector.h"
#include "core/format/prm/qp.h"

namespace gdakit::mlx5 {

inline constexpr std::uint8_t kHopLimit = 64;

struct Way {
  PortAddress to;
  bool has_grh = false;               // of InfiniBand: a global routing header
  std::array<std::uint8_t, 6> mac{};  // of Ethernet: of the next hop
  std::uint16_t source_port = 0;      // of RoCE v2
};

// The UDP source port, of those from 0xc000 on, of the queue pair of that number which is connected
// to the other one: different ones for the queues of one peer, so that networks which go by it
// spread them.
std::uint16_t source_port_of(std::uint32_t number, std::uint32_t peer_number);
// The `nth` of the source ports that are this way's, which all differ; 0 if it has none.
std::uint16_t nth_source_port(const Way& way, std::uint32_t nth);

// `number` and `peer_number` are those of the two ends. Errors: of Ethernet, that there is no way.
Result<Way> find_way(const OpenNic& nic, const PortAddress& to, std::uint32_t number,
                     std::uint32_t peer_number);

bool is_ethernet(const OpenNic& nic);
bool is_roce_v2(const OpenNic& nic);

// Ethernet's priority and the class of its packets, in a context with the fields of Layout.
template <class Layout, class Context>
void write_ethernet_class(const OpenNic& nic, const Context& context) {
  constexpr int kEcnBits = 2;  // of a traffic class, behind DSCP
  context.set(Layout::eth_prio, nic.service_level());
  context.set(Layout::tclass, nic.traffic_class());
  if (is_roce_v2(nic)) context.set(Layout::dscp, nic.traffic_class() >> kEcnBits);
}

using PathWriter = format::prm::View<format::prm::Ads, std::uint8_t>;
// What an initiator of DC says of all its ways: their service level and their traffic class.
void write_class(const OpenNic& nic, PathWriter path);
void write_way(const OpenNic& nic, const Way& way, PathWriter path);
// But for the target's number and key.
format::AvSegment vector_of(const OpenNic& nic, const Way& way);

}  // namespace gdakit::mlx5

// Commands that ask about the device.
#include <algorithm>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/firmware/capabilities.h"
#include "backends/softnic/firmware/firmware.h"
#include "core/format/prm/query.h"

namespace gdakit::softnic {

using namespace format;

namespace {

constexpr std::uint64_t kIpv4 = 0, kIpv6 = 1;  // roce_addr_layout.roce_l3_type

void write_roce_address(const RoceAddress& from, prm::View<prm::RoceAddrLayout, std::uint8_t> to) {
  using prm::RoceAddrLayout;
  std::ranges::copy(from.gid, to.at(RoceAddrLayout::source_l3_address).begin());
  std::uint64_t mac = 0;
  for (const std::uint8_t byte : from.mac) mac = mac << 8 | byte;
  to.set(RoceAddrLayout::source_mac_47_32, mac >> 32);
  to.set(RoceAddrLayout::source_mac_31_0, mac & 0xffffffff);
  to.set(RoceAddrLayout::roce_version, static_cast<std::uint64_t>(from.version));
  // Packets of version 1 have no IP header.
  const bool is_ipv6 = from.version != RoceVersion::v1 && !is_ipv4(from.gid);
  to.set(RoceAddrLayout::roce_l3_type, is_ipv6 ? kIpv6 : kIpv4);
}

}  // namespace

// Of op_mod bit 0 chooses between what the device has at most and what it is set up for; nothing is
// set up otherwise.
Status Firmware::query_hca_cap(In in, Out out) {
  const prm::View<prm::QueryHcaCapIn> request(in);
  if (request.get(prm::QueryHcaCapIn::other_function) != 0) {
    return refusal(CommandSyndrome::mailbox_function, 0,
                   request.get(prm::QueryHcaCapIn::function_id));
  }
  const auto page = request.get(prm::MboxIn::op_mod) >> 1;
  const CapableDevice device{identity_.model, identity_.ethernet, has_on_demand_memory()};
  const prm::View<prm::QueryHcaCapOut, std::uint8_t> answer(out);
  if (!write_capabilities(static_cast<prm::CapabilityPage>(page), device,
                          answer.at(prm::QueryHcaCapOut::capability))) {
    return refusal(CommandSyndrome::mailbox_capability, 0, page);
  }
  return {};
}

// Mailboxes are those of ISSI 1, and no other is to be had.
Status Firmware::query_issi(In, Out out) {
  constexpr unsigned kIssi = 1;
  const prm::View<prm::QueryIssiOut, std::uint8_t> answer(out);
  answer.set(prm::QueryIssiOut::current_issi, kIssi);
  answer.set(prm::QueryIssiOut::supported_issi_dw0, 1u << kIssi);
  return {};
}

Status Firmware::query_roce_address(In in, Out out) {
  const prm::View<prm::QueryRoceAddressIn> request(in);
  const auto port = request.get(prm::QueryRoceAddressIn::vhca_port_num);
  if (port > 1) return refusal(CommandSyndrome::mailbox_port, 0, port);  // 0: the one that there is
  const auto index = request.get(prm::QueryRoceAddressIn::roce_address_index);
  const std::size_t entries = identity_.ethernet ? kRoceAddresses : 0;
  if (index >= entries) {
    return refusal(CommandSyndrome::mailbox_roce_address, static_cast<std::uint32_t>(entries),
                   index);
  }
  if (index >= identity_.addresses.size()) return {};
  const prm::View<prm::QueryRoceAddressOut, std::uint8_t> answer(out);
  write_roce_address(identity_.addresses[index], answer.at(prm::QueryRoceAddressOut::roce_address));
  return {};
}

// What a device without link aggregation tells of it, and the answer to a NOP: zeroes.
Status Firmware::tell_nothing(In, Out) { return {}; }

}  // namespace gdakit::softnic

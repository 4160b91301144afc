// Commands that ask about the NIC's port, and who has made the NIC.
#include <algorithm>

#include "backends/softnic/firmware/firmware.h"
#include "core/format/prm/vport.h"

namespace gdakit::softnic {

using namespace format;

namespace {

// There are no other functions of the device, whose ports could be asked for.
template <class Request>
Status check_vport(std::span<const std::uint8_t> in) {
  const prm::View<Request> request(in);
  if (request.get(Request::other_vport) == 0) return {};
  return refusal(CommandSyndrome::mailbox_function, 0, request.get(Request::vport_number));
}

}  // namespace

Status Firmware::query_adapter(In, Out out) {
  using prm::QueryAdapterParamBlock;
  constexpr std::uint64_t kVendor = 0x0002c9;
  const auto block = prm::View<prm::QueryAdapterOut, std::uint8_t>(out).at(
      prm::QueryAdapterOut::query_adapter_struct);
  block.set(QueryAdapterParamBlock::ieee_vendor_id, kVendor);
  const auto psid = block.at(QueryAdapterParamBlock::vsd_contd_psid);
  std::copy_n(identity_.board.begin(), std::min(identity_.board.size(), psid.size()), psid.begin());
  return {};
}

Status Firmware::query_vport_state(In in, Out out) {
  using prm::QueryVportStateOut;
  if (const Status known = check_vport<prm::QueryVportStateIn>(in); !known.ok()) return known;
  const prm::View<QueryVportStateOut, std::uint8_t> answer(out);
  const auto state = identity_.port_is_up() ? prm::VportState::up : prm::VportState::down;
  answer.set(QueryVportStateOut::admin_state, static_cast<std::uint64_t>(prm::VportState::up));
  answer.set(QueryVportStateOut::state, static_cast<std::uint64_t>(state));
  return {};
}

Status Firmware::query_nic_vport_context(In in, Out out) {
  using prm::NicVportContext;
  if (const Status known = check_vport<prm::QueryNicVportContextIn>(in); !known.ok()) return known;
  const auto context = prm::View<prm::QueryNicVportContextOut, std::uint8_t>(out).at(
      prm::QueryNicVportContextOut::nic_vport_context);
  context.set(NicVportContext::roce_en, identity_.ethernet ? 1 : 0);
  context.set(NicVportContext::mtu, identity_.mtu);
  context.set(NicVportContext::system_image_guid, identity_.guid);
  context.set(NicVportContext::port_guid, identity_.guid);
  context.set(NicVportContext::node_guid, identity_.guid);
  std::uint64_t mac = 0;
  for (const std::uint8_t byte : identity_.mac) mac = mac << 8 | byte;
  const auto address = context.at(NicVportContext::permanent_address);
  address.set(prm::MacAddressLayout::mac_addr_47_32, mac >> 32);
  address.set(prm::MacAddressLayout::mac_addr_31_0, mac & 0xffffffff);
  return {};
}

Status Firmware::query_hca_vport_context(In in, Out out) {
  using prm::HcaVportContext;
  using prm::QueryHcaVportContextIn;
  if (const Status known = check_vport<QueryHcaVportContextIn>(in); !known.ok()) return known;
  const auto port = prm::View<QueryHcaVportContextIn>(in).get(QueryHcaVportContextIn::port_num);
  if (port > 1) return refusal(CommandSyndrome::mailbox_port, 0, port);
  if (identity_.ethernet) return refusal(CommandSyndrome::mailbox_link_layer);
  const auto context = prm::View<prm::QueryHcaVportContextOut, std::uint8_t>(out).at(
      prm::QueryHcaVportContextOut::hca_vport_context);
  const auto put = [&context](auto field, auto value) {
    context.set(field, static_cast<std::uint64_t>(value));
  };
  const bool up = identity_.port_is_up();
  put(HcaVportContext::port_physical_state,
      up ? prm::PhysicalState::link_up : prm::PhysicalState::disabled);
  put(HcaVportContext::port_state, up ? prm::PortState::active : prm::PortState::down);
  put(HcaVportContext::vport_state, up ? prm::PortState::active : prm::PortState::down);
  put(HcaVportContext::system_image_guid, identity_.guid);
  put(HcaVportContext::port_guid, identity_.guid);
  put(HcaVportContext::node_guid, identity_.guid);
  put(HcaVportContext::lid, identity_.lid);
  put(HcaVportContext::sm_lid, identity_.sm_lid);
  return {};
}

}  // namespace gdakit::softnic

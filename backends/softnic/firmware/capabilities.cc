#include "backends/softnic/firmware/capabilities.h"

#include <algorithm>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

using Page = format::prm::CapabilityPage;

// All that public clients ask for. Those without a row are all zeroes: they tell more about what a
// bit of cmd_hca_cap denies, as flow tables, e-switches, and offloads. What firmware answers then
// is not published; some clients ask without a look at that bit, and zeroes tell them what it does.
constexpr std::array kPages = {
    Page::cmd_hca_cap,
    Page::per_protocol_networking_offload_caps,
    Page::odp_cap,
    Page::atomic_caps,
    Page::roce_cap,
    Page::ipoib_offloads,
    Page::ipoib_enhanced_offloads,
    Page::flow_table_nic_cap,
    Page::flow_table_eswitch_cap,
    Page::e_switch_cap,
    Page::qos_cap,
    Page::debug_cap,
    Page::nvmf_cap,
    Page::device_mem_cap,
    Page::tls_cap,
    Page::virtio_emulation_cap,
    Page::device_event_cap,
    Page::ipsec_cap,
    Page::crypto_cap,
    Page::wqe_based_flow_table_cap,
    Page::parse_graph_node_cap,
    Page::shampo_cap,
    Page::macsec_cap,
    Page::cmd_hca_cap_2,
    Page::port_selection_cap,
    Page::adv_virtualization_cap,
    Page::adv_rdma_cap,
};

bool has(const CapableDevice& device, CapabilityNeed need) {
  switch (need) {
    case CapabilityNeed::nothing: return true;
    case CapabilityNeed::ethernet: return device.ethernet;
    case CapabilityNeed::infiniband: return !device.ethernet;
    case CapabilityNeed::on_demand_memory: return device.on_demand_memory;
  }
  return false;
}

}  // namespace

bool write_capabilities(Page page, const CapableDevice& device,
                        std::span<std::uint8_t, kCapabilityPageBytes> to) {
  GDAKIT_ASSERT(device.model >= kFirstModel && device.model <= kLastModel);
  if (std::ranges::find(kPages, page) == kPages.end()) return false;
  for (const CapabilityRow& row : capability_rows()) {
    if (row.page != page || !has(device, row.need)) continue;
    const auto model = static_cast<std::size_t>(device.model - kFirstModel);
    format::prm::set_bits(to.data(), row.bit_offset, row.bit_width, row.values[model]);
  }
  return true;
}

}  // namespace gdakit::softnic

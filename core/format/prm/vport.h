// Mailboxes that ask about the NIC's port, as a function of the device has it (vport).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

// QueryVportStateOut::state, and HcaVportContext::port_state.
enum class VportState : std::uint8_t { down = 0, up = 1 };
enum class PortState : std::uint8_t { down = 1, active = 4 };
enum class PhysicalState : std::uint8_t { disabled = 3, link_up = 5 };

struct MacAddressLayout {
  static constexpr std::size_t kBytes = 8;
  static constexpr Field<MacAddressLayout, 16, 16> mac_addr_47_32{};
  static constexpr Field<MacAddressLayout, 32, 32> mac_addr_31_0{};
};

struct NicVportContext {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<NicVportContext, 31, 1> roce_en{};
  static constexpr Field<NicVportContext, 304, 16> mtu{};
  static constexpr Field<NicVportContext, 320, 64> system_image_guid{};
  static constexpr Field<NicVportContext, 384, 64> port_guid{};
  static constexpr Field<NicVportContext, 448, 64> node_guid{};
  static constexpr Part<NicVportContext, MacAddressLayout, 1952> permanent_address{};
};

struct QueryNicVportContextIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryNicVportContextIn, 64, 1> other_vport{};
  static constexpr Field<QueryNicVportContextIn, 80, 16> vport_number{};
};

struct QueryNicVportContextOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QueryNicVportContextOut, NicVportContext, 128> nic_vport_context{};
};

struct HcaVportContext {
  static constexpr std::size_t kBytes = 512;
  static constexpr Field<HcaVportContext, 272, 4> port_physical_state{};
  static constexpr Field<HcaVportContext, 280, 4> port_state{};
  static constexpr Field<HcaVportContext, 284, 4> vport_state{};
  static constexpr Field<HcaVportContext, 320, 64> system_image_guid{};
  static constexpr Field<HcaVportContext, 384, 64> port_guid{};
  static constexpr Field<HcaVportContext, 448, 64> node_guid{};
  static constexpr Field<HcaVportContext, 768, 16> lid{};
  static constexpr Field<HcaVportContext, 800, 16> sm_lid{};
};

struct QueryHcaVportContextIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryHcaVportContextIn, 64, 1> other_vport{};
  static constexpr Field<QueryHcaVportContextIn, 76, 4> port_num{};
  static constexpr Field<QueryHcaVportContextIn, 80, 16> vport_number{};
};

struct QueryHcaVportContextOut : MboxOut {
  static constexpr std::size_t kBytes = 528;
  static constexpr Part<QueryHcaVportContextOut, HcaVportContext, 128> hca_vport_context{};
};

struct QueryVportStateIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryVportStateIn, 64, 1> other_vport{};
  static constexpr Field<QueryVportStateIn, 80, 16> vport_number{};
};

struct QueryVportStateOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryVportStateOut, 120, 4> admin_state{};
  static constexpr Field<QueryVportStateOut, 124, 4> state{};
};

struct QueryAdapterParamBlock {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<QueryAdapterParamBlock, 200, 24> ieee_vendor_id{};
  static constexpr Octets<QueryAdapterParamBlock, 1920, 16> vsd_contd_psid{};
};

struct QueryAdapterOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QueryAdapterOut, QueryAdapterParamBlock, 128> query_adapter_struct{};
};

}  // namespace gdakit::format::prm

// Mailboxes that ask about the device.
#pragma once

#include <cstddef>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

struct QueryHcaCapIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryHcaCapIn, 64, 1> other_function{};
  static constexpr Field<QueryHcaCapIn, 80, 16> function_id{};
};

struct QueryHcaCapOut : MboxOut {
  static constexpr std::size_t kBytes = 4112;
  static constexpr Octets<QueryHcaCapOut, 128, 4096> capability{};  // of caps.h
};

struct QueryIssiOut : MboxOut {
  static constexpr std::size_t kBytes = 112;
  static constexpr Field<QueryIssiOut, 80, 16> current_issi{};
  static constexpr Field<QueryIssiOut, 864, 32> supported_issi_dw0{};  // a bit each
};

struct Lagc {
  static constexpr std::size_t kBytes = 8;
  static constexpr Field<Lagc, 21, 3> port_select_mode{};  // 0: by each queue's affinity
  static constexpr Field<Lagc, 29, 3> lag_state{};         // 0: there is none
};

struct QueryLagOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Part<QueryLagOut, Lagc, 64> ctx{};
};

struct RoceAddrLayout {
  static constexpr std::size_t kBytes = 32;
  static constexpr Octets<RoceAddrLayout, 0, 16> source_l3_address{};
  static constexpr Field<RoceAddrLayout, 144, 16> source_mac_47_32{};
  static constexpr Field<RoceAddrLayout, 160, 32> source_mac_31_0{};
  static constexpr Field<RoceAddrLayout, 212, 4> roce_l3_type{};
  static constexpr Field<RoceAddrLayout, 216, 8> roce_version{};
};

struct QueryRoceAddressIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryRoceAddressIn, 64, 16> roce_address_index{};
  static constexpr Field<QueryRoceAddressIn, 92, 4> vhca_port_num{};
};

struct QueryRoceAddressOut : MboxOut {
  static constexpr std::size_t kBytes = 48;
  static constexpr Part<QueryRoceAddressOut, RoceAddrLayout, 128> roce_address{};
};

}  // namespace gdakit::format::prm

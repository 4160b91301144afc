// What the device says that it can do, and what calls are checked against.
#pragma once

#include <cstdint>

namespace gdakit::softnic::uverbs {

inline constexpr std::uint32_t kMostWqes = 32768;  // WQEBBs of a send queue, WQEs of a receive one
inline constexpr std::uint32_t kMostSrqWqes = 32767;
inline constexpr std::uint32_t kMostSrqSges = 31;
inline constexpr std::uint32_t kMostCqes = (1u << 22) - 1;
inline constexpr std::uint32_t kLogLongestMessage = 30;  // of bytes
inline constexpr std::uint32_t kMostReads = 16;          // READs and atomics of a QP at a time
inline constexpr std::uint32_t kCompletionEqn = 1;       // of the one event queue that there is
inline constexpr std::uint32_t kMostNumber =
    0xffffff;                                    // of 24 bits: of an object, a PSN, a user index
inline constexpr std::uint32_t kGidTable = 256;  // entries, most of them empty

inline constexpr std::uint32_t kMostGroups = 1u << 21, kMostQpsOfAGroup = 240;  // of multicast
inline constexpr std::uint16_t kSubnetManagerLid = 1;                           // of InfiniBand

inline constexpr std::uint8_t kStateDown = 1, kStateActive = 4;  // port_attr.state

// ib_device_attr.device_cap_flags: BAD_PKEY_CNTR, BAD_QKEY_CNTR, AUTO_PATH_MIG are not there;
// CHANGE_PHY_PORT 1 << 4, PORT_ACTIVE_EVENT 1 << 10, SYS_IMAGE_GUID 1 << 11, RC_RNR_NAK_GEN 1
// << 12, MEM_WINDOW 1 << 17, XRC 1 << 20, MEM_MGT_EXTENSIONS (local and remote invalidate) 1 << 21,
// MEM_WINDOW_TYPE_2B 1 << 24.
inline constexpr std::uint32_t kDeviceCapFlags =
    1u << 10 | 1u << 11 | 1u << 12 | 1u << 17 | 1u << 20 | 1u << 21 | 1u << 24;

}  // namespace gdakit::softnic::uverbs

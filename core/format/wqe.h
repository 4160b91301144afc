// Work queue entries: the words that a thread writes and the NIC reads.
//
// A WQE is a run of 16-byte segments (DS) that starts on a 64-byte basic block (WQEBB):
//
//   +---------+---------+---------+---------+
//   | control | raddr   | data    |         |    RDMA_WRITE, RDMA_READ: 3 DS, one WQEBB
//   +---------+---------+---------+---------+
//   | control | raddr   | atomic  | data    |    atomics: 4 DS, one WQEBB
//   +---------+---------+---------+---------+
//   | control | raddr   | swap, compare     |    8-byte masked compare-and-swap: 5 DS, two WQEBBs
//   | masks             | data    |         |
//   +---------+---------+---------+---------+
//
// Names are those of the mlx5 programmer's reference. Every multi-byte field is big-endian.
// Source: tests/data/wqe_cqe.csv, which tests/format/layout_test.cc compares with these structs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/base/bits.h"
#include "core/base/endian.h"

namespace gdakit::format {

inline constexpr std::uint32_t kSegmentBytes = 16;
inline constexpr std::uint32_t kWqebbBytes = 64;
inline constexpr std::uint32_t kSegmentsPerWqebb = kWqebbBytes / kSegmentBytes;
inline constexpr std::uint32_t kMaxWqebbs = 16;

enum class Opcode : std::uint8_t {
  nop = 0x00,
  send_inval = 0x01,  // imm: the peer's key that ends with it
  rdma_write = 0x08,
  rdma_write_imm = 0x09,
  send = 0x0a,
  send_imm = 0x0b,
  rdma_read = 0x10,
  atomic_cs = 0x11,
  atomic_fa = 0x12,
  atomic_masked_cs = 0x14,
  atomic_masked_fa = 0x15,
  dump = 0x23,
  umr = 0x25,  // core/format/umr.h
};

// What an extended atomic says in opmod: 8 | (log2(bytes) - 2).
inline constexpr std::uint8_t kOpmodAtomic4 = 0x08;
inline constexpr std::uint8_t kOpmodAtomic8 = 0x09;

// When a WQE makes a CQE (ce, bits 3:2 of fm_ce_se).
enum class Completion : std::uint8_t {
  on_error = 0,
  on_first_error = 1,
  always = 2,
  with_event = 3
};

// What a WQE waits for before it starts (fm, bits 7:5 of fm_ce_se).
enum class FenceMode : std::uint8_t {
  none = 0,
  small = 1,   // earlier changes of memory keys
  fence = 2,   // earlier READs and atomics of this queue
  strong = 3,  // every earlier WQE of this queue
  fence_and_small = 4,
};

// Byte 11 of a control segment: what the WQE waits for, and what its completion makes.
GDAKIT_HOST_DEVICE constexpr std::uint8_t fm_ce_se(FenceMode fence, Completion completion,
                                                   bool solicited = false) {
  return static_cast<std::uint8_t>((static_cast<unsigned>(fence) << 5) |
                                   (static_cast<unsigned>(completion) << 2) |
                                   (solicited ? 2u : 0u));
}

struct ControlSegment {
  Be32 opmod_idx_opcode;  // opmod[31:24] wqe_index[23:8] opcode[7:0]
  Be32 qpn_ds;            // qpn[31:8] ds[5:0]
  std::uint8_t signature;
  std::uint8_t dci_stream_channel_id[2];
  std::uint8_t fm_ce_se;
  Be32 imm;

  GDAKIT_HOST_DEVICE constexpr std::uint8_t opmod() const {
    return static_cast<std::uint8_t>(opmod_idx_opcode >> 24);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint16_t wqe_index() const {
    return static_cast<std::uint16_t>(opmod_idx_opcode >> 8);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint8_t opcode() const {
    return static_cast<std::uint8_t>(opmod_idx_opcode);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint32_t qpn() const { return qpn_ds >> 8; }
  GDAKIT_HOST_DEVICE constexpr std::uint32_t ds() const { return qpn_ds & 0x3f; }
  GDAKIT_HOST_DEVICE constexpr FenceMode fence_mode() const {
    return static_cast<FenceMode>(fm_ce_se >> 5);
  }
  GDAKIT_HOST_DEVICE constexpr Completion completion() const {
    return static_cast<Completion>((fm_ce_se >> 2) & 3);
  }
  GDAKIT_HOST_DEVICE constexpr bool solicited() const { return (fm_ce_se & 2) != 0; }
};

struct RemoteAddressSegment {
  Be64 raddr;
  Be32 rkey;
  Be32 reserved;
};

struct DataSegment {
  Be32 byte_count;  // bit 31 clear; 0 stands for 2^31
  Be32 lkey;
  Be64 addr;
};

// Followed at once by the data; header and data together are padded to 16 bytes.
struct InlineSegment {
  Be32 byte_count;  // kInline | length
};
inline constexpr std::uint32_t kInline = 0x80000000u;
inline constexpr std::uint32_t kMaxInlineLength = 0x3ff;

// Of XRC, right behind the control segment of what goes to the peer.
struct XrcSegment {
  Be32 srqn;  // [23:0] of the shared receive queue that it is for
  std::uint8_t rsvd[12];
};
static_assert(sizeof(XrcSegment) == 16);

struct AtomicSegment {
  Be64 swap_add;
  Be64 compare;
};

struct MaskedAtomic4CsSegment {
  Be32 swap_data;
  Be32 compare_data;
  Be32 swap_mask;
  Be32 compare_mask;
};

struct MaskedAtomic4FaSegment {
  Be32 add_data;
  Be32 field_boundary;  // a bit set stops the carry out of that bit; all ones is XOR
  Be64 reserved;
};

struct MaskedAtomic8CsSegment {
  Be64 swap_add;
  Be64 compare;
  Be64 swap_add_mask;
  Be64 compare_mask;
};

struct MaskedAtomic8FaSegment {
  Be64 add_data;
  Be64 field_boundary;
};

static_assert(sizeof(ControlSegment) == 16 && offsetof(ControlSegment, fm_ce_se) == 11);
static_assert(sizeof(RemoteAddressSegment) == 16 && offsetof(RemoteAddressSegment, rkey) == 8);
static_assert(sizeof(DataSegment) == 16 && offsetof(DataSegment, addr) == 8);
static_assert(sizeof(InlineSegment) == 4);
static_assert(sizeof(AtomicSegment) == 16);
static_assert(sizeof(MaskedAtomic4CsSegment) == 16);
static_assert(sizeof(MaskedAtomic4FaSegment) == 16);
static_assert(sizeof(MaskedAtomic8CsSegment) == 32);
static_assert(sizeof(MaskedAtomic8FaSegment) == 16);

// One segment as it is stored: 16 bytes in one vector store, words in memory order.
struct alignas(16) Segment {
  std::uint64_t low;
  std::uint64_t high;
};
static_assert(sizeof(Segment) == kSegmentBytes);

// One basic block as a value, built in registers.
struct alignas(64) Wqebb {
  Segment segments[kSegmentsPerWqebb];
};
static_assert(sizeof(Wqebb) == kWqebbBytes);

// The segment of any 16-byte layout above.
template <class Layout>
GDAKIT_HOST_DEVICE constexpr Segment to_segment(const Layout& layout) {
  return bit_cast<Segment>(layout);
}

// dword 0 of a control segment.
GDAKIT_HOST_DEVICE constexpr Be32 opmod_idx_opcode(Opcode opcode, std::uint16_t wqe_index,
                                                   std::uint8_t opmod = 0) {
  return Be32{(std::uint32_t{opmod} << 24) | (std::uint32_t{wqe_index} << 8) |
              static_cast<std::uint32_t>(opcode)};
}

GDAKIT_HOST_DEVICE constexpr Be32 qpn_ds(std::uint32_t qpn, std::uint32_t ds) {
  return Be32{(qpn << 8) | ds};
}

// A control segment. `fm_ce_se` comes from the function of that name; `imm` is stored as it is.
GDAKIT_HOST_DEVICE constexpr ControlSegment control(Opcode opcode, std::uint8_t opmod,
                                                    std::uint16_t wqe_index, std::uint32_t qpn,
                                                    std::uint32_t ds, std::uint8_t fm_ce_se,
                                                    Be32 imm = Be32{0}) {
  return {opmod_idx_opcode(opcode, wqe_index, opmod), qpn_ds(qpn, ds), 0, {0, 0}, fm_ce_se, imm};
}

// Address and rkey of remote memory. The rkey is kept big-endian, as the device tables hold it.
GDAKIT_HOST_DEVICE constexpr RemoteAddressSegment remote_address(std::uint64_t raddr, Be32 rkey) {
  return {Be64{raddr}, rkey, Be32{0}};
}

// `byte_count` is 1 .. 2^31 - 1; 0 stands for 2^31.
GDAKIT_HOST_DEVICE constexpr DataSegment data(std::uint64_t addr, Be32 lkey,
                                              std::uint32_t byte_count) {
  return {Be32{byte_count}, lkey, Be64{addr}};
}

// The inline segment and data of at most 12 bytes, which fill one DS. `value` holds the data in its
// lowest `length` bytes, little-endian, as memory shall hold it.
GDAKIT_HOST_DEVICE constexpr Segment inline_value(std::uint64_t value, std::uint32_t length) {
  const Be32 header{kInline | length};
  return {std::uint64_t{header.raw()} | (value << 32), value >> 32};
}

GDAKIT_HOST_DEVICE constexpr std::uint32_t wqebbs_of(std::uint32_t ds) {
  return (ds + kSegmentsPerWqebb - 1) / kSegmentsPerWqebb;
}

}  // namespace gdakit::format

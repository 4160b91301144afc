// The headers of RoCEv2 as they lie in a UDP datagram, and which of them a packet has.
//
//   BTH | FETH | DETH | DCETH | DCCETH | XRCETH | RETH | AtomicETH | AETH | AtomicAckETH | ImmDt |
//   IETH | MaskedETH | payload | 0 to 3 bytes of padding | ICRC
//
// extensions_of() says which of them an opcode has. Every field is big-endian. Source: InfiniBand
// Architecture Specification, volume 1, chapter 9; its annexes A14 (XRC), A17 (RoCEv2) and A19
// (FLUSH, ATOMIC WRITE). Of DC it is public that a DCETH of eight bytes holds the number of a DCI
// or DCT, and that sixteen bytes more follow in a connect. That the number lies where DETH has one
// is this file's guess; what the sixteen bytes hold (DccethLayout) is gdakit's own.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/endian.h"

namespace gdakit::softnic::roce {

inline constexpr std::uint16_t kUdpPort = 4791;
inline constexpr std::size_t kIcrcBytes = 4;
// The payload of a packet: powers of two from the one to the other.
inline constexpr std::uint32_t kLeastMtu = 256, kMostMtu = 4096;

// Bits 7:5 of an opcode.
enum class Transport : std::uint8_t {
  rc = 0x00,
  uc = 0x20,
  dc = 0x40,  // reliable datagram in the specification, which nobody has built
  ud = 0x60,
  cnp = 0x80,  // congestion notification
  xrc = 0xa0,
  own = 0xc0,      // left to manufacturers: what gdakit sends that has no public form
  own_xrc = 0xe0,  // the same of XRC
};

// Bits 4:0.
enum class Operation : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_imm = 0x03,
  send_only = 0x04,
  send_only_imm = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_imm = 0x09,
  write_only = 0x0a,
  write_only_imm = 0x0b,
  read_request = 0x0c,
  read_response_first = 0x0d,
  read_response_middle = 0x0e,
  read_response_last = 0x0f,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  dc_connect = 0x15,  // solicited: disconnect
  send_last_invalidate = 0x16,
  send_only_invalidate = 0x17,
  own_dc_compare_swap = 0x1a,  // of Transport::own, but of DC
  own_dc_fetch_add = 0x1b,
  flush = 0x1c,
  atomic_write = 0x1d,
};

constexpr std::uint8_t opcode_of(Transport transport, Operation operation) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(transport) |
                                   static_cast<std::uint8_t>(operation));
}
constexpr Transport transport_of(std::uint8_t opcode) {
  return static_cast<Transport>(opcode & 0xe0);
}
constexpr Operation operation_of(std::uint8_t opcode) {
  return static_cast<Operation>(opcode & 0x1f);
}
inline constexpr std::uint8_t kCnpOpcode = 0x81;

// Bytes of payload in one packet of an opcode: a SEND's or WRITE's are bounded by the MTU alone.
struct PayloadLimits {
  std::size_t least = 0;
  std::size_t most = 0;
};
PayloadLimits payload_limits(std::uint8_t opcode);

// Base transport header.
struct Bth {
  std::uint8_t opcode;
  std::uint8_t flags;  // solicited[7] migrated[6] padding[5:4] version[3:0]
  Be16 pkey;
  Be32 qpn;  // FECN[31] BECN[30] reserved[29:24] destination queue pair[23:0]
  Be32 psn;  // acknowledge request[31] reserved[30:24] PSN[23:0]
};
static_assert(sizeof(Bth) == 12 && offsetof(Bth, qpn) == 4 && offsetof(Bth, psn) == 8);

// An integer of 64 bits where only 32 are aligned.
struct Be64Halves {
  Be32 high;
  Be32 low;

  constexpr std::uint64_t value() const {
    return (std::uint64_t{std::uint32_t{high}} << 32) | std::uint32_t{low};
  }
};
constexpr Be64Halves halves_of(std::uint64_t value) {
  return {Be32{static_cast<std::uint32_t>(value >> 32)}, Be32{static_cast<std::uint32_t>(value)}};
}

// Datagrams: the key of the receiver's queue pair, and the sender's queue pair.
struct DethLayout {
  Be32 qkey;
  Be32 source_qpn;  // [23:0]
};
static_assert(sizeof(DethLayout) == 8);

// A connect of DC, behind the DCETH.
struct DccethLayout {
  Be64Halves access_key;
  Be64Halves connection;
};
static_assert(sizeof(DccethLayout) == 16);

// READ, WRITE, ATOMIC WRITE, FLUSH.
struct RethLayout {
  Be64Halves address;
  Be32 rkey;
  Be32 length;
};
static_assert(sizeof(RethLayout) == 16);

struct AtomicEthLayout {
  Be64Halves address;
  Be32 rkey;
  Be64Halves swap_add;
  Be64Halves compare;
};
static_assert(sizeof(AtomicEthLayout) == 28);

// gdakit's own, behind AtomicETH: what ConnectX's extended atomics have beside that.
struct MaskedEthLayout {
  Be32 size;  // of the word: 4 or 8 bytes
  Be64Halves swap_mask;
  Be64Halves compare_mask;
  Be64Halves boundary;
};
static_assert(sizeof(MaskedEthLayout) == 28);

// Acknowledges and responses.
struct AethLayout {
  Be32 word;  // syndrome[31:24] MSN[23:0]
};
static_assert(sizeof(AethLayout) == 4);

// One bit for each header that may follow the BTH, in their order.
enum class Extension : std::uint16_t {
  feth = 1 << 0,
  deth = 1 << 1,
  dceth = 1 << 2,
  dcceth = 1 << 3,
  xrceth = 1 << 4,
  reth = 1 << 5,
  atomic_eth = 1 << 6,
  aeth = 1 << 7,
  atomic_ack_eth = 1 << 8,
  imm = 1 << 9,
  ieth = 1 << 10,
  masked_eth = 1 << 11,
};
constexpr std::uint16_t kExtensionCount = 12;
inline constexpr std::array<std::uint8_t, kExtensionCount> kExtensionBytes = {4,  8, 8, 16, 4, 16,
                                                                              28, 4, 8, 4,  4, 28};

class Extensions {
 public:
  constexpr Extensions() = default;
  template <class... Each>
  constexpr explicit Extensions(Each... each)
      : bits_(static_cast<std::uint16_t>((0u | ... | static_cast<std::uint16_t>(each)))) {}

  constexpr bool has(Extension extension) const {
    return (bits_ & static_cast<std::uint16_t>(extension)) != 0;
  }
  constexpr Extensions with(Extension extension) const {
    Extensions all = *this;
    all.bits_ = static_cast<std::uint16_t>(all.bits_ | static_cast<std::uint16_t>(extension));
    return all;
  }
  // Of all of them.
  constexpr std::size_t bytes() const {
    std::size_t sum = 0;
    for (unsigned left = bits_; left != 0; left &= left - 1) {
      sum += kExtensionBytes[static_cast<std::size_t>(std::countr_zero(left))];
    }
    return sum;
  }
  constexpr bool operator==(const Extensions&) const = default;

 private:
  std::uint16_t bits_ = 0;
};

// Those of the opcode's packets, or nothing if there is no such opcode. `solicited`: of DC's
// connect, whose solicited form disconnects.
std::optional<Extensions> extensions_of(std::uint8_t opcode, bool solicited = false);

}  // namespace gdakit::softnic::roce

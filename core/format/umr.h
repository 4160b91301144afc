// WQEs that change a memory key (opcode umr): what binds a memory window, and what ends it; what
// says of which parts of other keys a key consists.
//
//   +---------+---------+---------+---------+
//   | control | UMR control                 |    control.imm: the key, of which the index counts
//   +---------+---------+---------+---------+
//   | memory key context                    |    the new values of the fields that are changed
//   +---------+---------+---------+---------+
//   | list of KLMs, or where it is, | padding |  only if UMR control says that there is one
//   +---------+---------+---------+---------+
//
// A list is KLMs one behind the other, or a repeat block: a head, and entries of which each is
// taken in turn, again and again, each time a stride further. One that is not inline lies where a
// data segment in its place says.
//
// Source: tests/data/wqe_cqe.csv, rows umr_ctrl, umr_mkey_context, klm; opcodes.csv, category umr.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/endian.h"

namespace gdakit::format {

struct UmrControlSegment {
  std::uint8_t flags;  // umr_flags
  std::uint8_t rsvd0[3];
  Be16 klm_octowords;  // of the list behind the context, padded to 64 bytes
  // In octowords: its first entry takes the place of this one. Without the flag: octowords of a
  // signature's segment behind the list.
  Be16 translation_offset;
  Be64 mkey_mask;  // which fields of the context count
  std::uint8_t rsvd1[32];
};
static_assert(sizeof(UmrControlSegment) == 48 && offsetof(UmrControlSegment, mkey_mask) == 8);

// What rdma-core calls CHECK_FREE has the WQE fail unless the key is free.
namespace umr_flags {
inline constexpr std::uint8_t check_qpn = 0x08;
inline constexpr std::uint8_t translation_offset = 0x10;
inline constexpr std::uint8_t check_free = 0x20;
inline constexpr std::uint8_t check_not_free = 0x40;
inline constexpr std::uint8_t inline_list = 0x80;
}  // namespace umr_flags

namespace mkey_mask {
inline constexpr std::uint64_t length = 1u << 0;
inline constexpr std::uint64_t start_address = 1u << 6;
inline constexpr std::uint64_t remote_invalidate = 1u << 8;
inline constexpr std::uint64_t key = 1u << 13;
inline constexpr std::uint64_t qpn = 1u << 14;
inline constexpr std::uint64_t local_read = 1u << 17;
inline constexpr std::uint64_t local_write = 1u << 18;
inline constexpr std::uint64_t remote_read = 1u << 19;
inline constexpr std::uint64_t remote_write = 1u << 20;
inline constexpr std::uint64_t atomic = 1u << 21;
inline constexpr std::uint64_t small_fence = 1u << 23;
inline constexpr std::uint64_t relaxed_ordering_write = 1u << 25;
inline constexpr std::uint64_t free = 1u << 29;
inline constexpr std::uint64_t relaxed_ordering_read = std::uint64_t{1} << 47;
}  // namespace mkey_mask

struct MkeyContextSegment {
  std::uint8_t free;  // bit 6: the key is free, and grants nothing
  std::uint8_t reserved1;
  std::uint8_t access_flags;  // mkey_access
  std::uint8_t sf;
  Be32 qpn_mkey;  // qpn[31:8], 0xffffff: any; key's low byte[7:0]
  Be32 reserved2;
  Be32 flags_pd;
  Be64 start_addr;
  Be64 len;
  Be32 bsf_octword_size;
  std::uint8_t reserved3[16];
  Be32 translations_octword_size;
  std::uint8_t reserved4[3];
  std::uint8_t log_page_size;
  Be32 reserved;
};
static_assert(sizeof(MkeyContextSegment) == 64 && offsetof(MkeyContextSegment, start_addr) == 16);
static_assert(offsetof(MkeyContextSegment, log_page_size) == 59);
inline constexpr std::uint8_t kMkeyFree = 0x40;
inline constexpr std::uint32_t kMkeyOfAnyQp = 0xffffff;
// In flags_pd: peers may invalidate the key.
inline constexpr std::uint32_t kMkeyRemoteInvalidate = 1u << 24;

namespace mkey_access {
inline constexpr std::uint8_t local_read = 0x04;
inline constexpr std::uint8_t local_write = 0x08;
inline constexpr std::uint8_t remote_read = 0x10;
inline constexpr std::uint8_t remote_write = 0x20;
inline constexpr std::uint8_t atomic = 0x40;
}  // namespace mkey_access

// An entry of the list: bytes of another key's memory.
struct KlmSegment {
  Be32 byte_count;  // 0 stands for 2^31
  Be32 mkey;
  Be64 address;
};
static_assert(sizeof(KlmSegment) == 16);
// A list of one entry, as UMR control counts it.
inline constexpr std::uint16_t kOctowordsOfOneKlm = 4;
inline constexpr std::uint64_t kLongestKlm = std::uint64_t{1} << 31;

// The head of a repeat block.
struct RepeatBlockSegment {
  Be32 byte_count;  // of all entries, once
  Be32 op;          // kRepeatBlock, where a KLM has its key
  Be32 repeat_count;
  Be16 reserved;
  Be16 num_ent;
};
static_assert(sizeof(RepeatBlockSegment) == sizeof(KlmSegment));
inline constexpr std::uint32_t kRepeatBlock = 0x400;

struct RepeatEntrySegment {
  Be16 stride;  // from where it begins to where it does the next time
  Be16 byte_count;
  Be32 memkey;
  Be64 va;
};
static_assert(sizeof(RepeatEntrySegment) == sizeof(KlmSegment));

}  // namespace gdakit::format

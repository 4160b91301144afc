// What a PE writes for a timeline (GDAKIT_TRACE), and `gdakit run --trace` reads: a header, then
// records of one size, in the order in which they were made.
//
//   DIR/pe0-host.trace   kernels, blocks of the emulator, what queues are called
//   DIR/pe0-nic.trace    doorbells, WQEs, CQEs, packets, as the soft NIC sees them
//
// Files are read on machines like the one that wrote them. Times are those of CLOCK_MONOTONIC,
// which is one for all processes of a host; the header has the time of day at the same moment, by
// which files of several hosts are brought together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/base/bits.h"

namespace gdakit {

struct TraceHeader {
  std::array<char, 16> magic = kMagic;
  std::uint32_t record_bytes = 64;
  std::int32_t pe = 0;
  std::uint64_t steady_ns = 0;     // of CLOCK_MONOTONIC, at the file's beginning
  std::uint64_t wall_ns = 0;       // since 1970, then
  std::array<char, 40> boot = {};  // the host's boot_id, which names the host and its clock
  std::uint32_t ends_early = 0;    // 1: not with its PE, but as the disk was full, or failed
  std::array<char, 44> unused = {};

  static constexpr std::array<char, 16> kMagic = {'g', 'd', 'a', 'k', 'i', 't', ' ',  't',
                                                  'r', 'a', 'c', 'e', ' ', '1', '\n', 0};
};
static_assert(sizeof(TraceHeader) == 128 && std::is_trivially_copyable_v<TraceHeader>);

enum class TraceKind : std::uint32_t {
  lost,          // value: events that are missing here, as they came faster than the file
  kernel_begin,  // value: its number; index: blocks; size: threads of each; name
  kernel_end,    // value: its number
  block_begin,   // index: of the block; value: of the kernel
  block_end,     // the same
  queue_name,    // queue; peer; index: among the queues to the peer
  doorbell,      // queue; index: the low 16 bits of the producer counter that it announces
  fetch,         // queue; index: of the first WQEBB; size: WQEBBs; value: when it began
  wqe_begin,     // queue; index; opcode; size: bytes of the message
  wqe_end,       // queue; index; opcode; detail: TraceEnd
  cqe,           // queue; index: the 16 bits of its WQE; opcode of the CQE; detail: syndrome;
                 // value: when the NIC began to write it
  cqe_lost,      // likewise, without a value: it was never written, as its CQ has overrun
  packet_out,    // queue; peer; index: of its WQE; opcode: the packet's; psn; size: of the payload;
                 // detail: how many PSNs it takes
  packet_in,     // queue: the one it is for; the rest as with packet_out, but for index
  alive,         // nothing but that the PE lives
  count,
};

// How a WQE came to its end.
enum class TraceEnd : std::uint32_t {
  silent,   // without a CQE: a later one tells of it, too
  told,     // with one
  failed,   // with one that has an error
  flushed,  // likewise, behind an error; it may never have begun
};

struct TraceRecord {
  TraceKind kind = TraceKind::lost;
  std::uint32_t queue = 0;  // the queue pair's number
  std::uint64_t time_ns = 0;
  std::uint64_t index = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  struct Details {
    std::uint32_t opcode = 0;
    std::uint32_t detail = 0;
    std::uint32_t psn = 0;
    std::int32_t peer = 0;
    std::uint64_t unused = 0;
  };
  Details of;

  // Of a kernel its name is in the place of the details, cut to fit, with a zero behind it.
  using Name = std::array<char, sizeof(Details)>;
  Name name() const { return bit_cast<Name>(of); }
  void set_name(std::string_view text) {
    Name cut = {};
    text.copy(cut.data(), cut.size() - 1);
    of = bit_cast<Details>(cut);
  }
};
static_assert(sizeof(TraceRecord::Details) == 24 && offsetof(TraceRecord, of) == 40);
static_assert(sizeof(TraceRecord) == 64 && std::is_trivially_copyable_v<TraceRecord>);
static_assert(std::has_unique_object_representations_v<TraceRecord>, "all its bytes are written");

}  // namespace gdakit

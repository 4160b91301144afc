// Doorbell record, doorbell value and UAR page. Source: tests/data/wqe_cqe.csv, rows dbr_qp,
// uar_page, uar_doorbell_value.
//
//   thread                          memory                    NIC
//   writes WQEs            ------>  send queue
//   stores the new index   ------>  doorbell record           reads it when in doubt
//   stores 8 bytes         ------>  doorbell register         wakes up, fetches up to the index
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/base/endian.h"

namespace gdakit::format {

// Two words that belong to one QP, in memory that the NIC reads.
struct alignas(8) DoorbellRecord {
  Be32 rcv_dbr;  // receive producer counter & 0xffff
  Be32 snd_dbr;  // send producer counter in WQEBBs & 0xffff
};
static_assert(sizeof(DoorbellRecord) == 8 && offsetof(DoorbellRecord, snd_dbr) == 4);

inline constexpr std::uint32_t kUarPageBytes = 4096;
inline constexpr std::uint32_t kUarDoorbellBegin = 0x800;  // registers 0 and 1, two halves each
inline constexpr std::uint32_t kUarDoorbellEnd = 0xc00;
inline constexpr std::uint32_t kDoorbellsPerUar = (kUarDoorbellEnd - kUarDoorbellBegin) / 8;
// A half: its first eight bytes ring, the others are the rest of a WQE that BlueFlame carries.
inline constexpr std::uint32_t kUarHalfBytes = 0x100;

// The producer counter as a doorbell record holds it: the one place where an index is cut to 16
// bits.
GDAKIT_HOST_DEVICE constexpr std::uint16_t wire_index(std::uint64_t index) {
  return static_cast<std::uint16_t>(index);
}

GDAKIT_HOST_DEVICE constexpr Be32 doorbell_record_value(std::uint64_t producer_index) {
  return Be32{wire_index(producer_index)};
}

// The eight bytes that ring for all WQEs below `producer_index`, as one little-endian store writes
// them: a control segment's first words with opcode, opmod and ds 0.
GDAKIT_HOST_DEVICE constexpr std::uint64_t doorbell_value(std::uint64_t producer_index,
                                                          std::uint32_t qpn) {
  const Be32 index{std::uint32_t{wire_index(producer_index)} << 8};
  const Be32 queue{qpn << 8};
  return std::uint64_t{index.raw()} | (std::uint64_t{queue.raw()} << 32);
}

}  // namespace gdakit::format

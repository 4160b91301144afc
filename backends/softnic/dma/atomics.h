// What a remote atomic does to the word in memory. Source: the PRM's extended atomics; plain
// fetch-and-add and compare-and-swap are the masked forms with no boundary and full masks.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace gdakit::softnic {

enum class AtomicKind : std::uint8_t { fetch_add, compare_swap };

// Operands in host byte order. The word is of 4 or 8 bytes, little-endian in memory.
struct AtomicRequest {
  AtomicKind kind = AtomicKind::fetch_add;
  std::uint8_t size = 8;
  std::uint64_t swap_add = 0;      // what is added or swapped in
  std::uint64_t compare = 0;       // compare_swap: what the word is compared with
  std::uint64_t swap_mask = 0;     // compare_swap: the bits that are swapped
  std::uint64_t compare_mask = 0;  // compare_swap: the bits that are compared
  std::uint64_t boundary = 0;      // fetch_add: a bit set stops the carry out of that bit
};

// Adds as a row of fields, each of which ends at a bit that `boundary` marks: carries never leave
// it.
GDAKIT_HOST_DEVICE constexpr std::uint64_t add_fields(std::uint64_t a, std::uint64_t b,
                                                      std::uint64_t boundary) {
  // Without the marked bits nothing carries out of a field; into a marked bit goes only its carry.
  return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

// The word after the operation, if it held `old`; for 4 bytes the upper half is 0.
GDAKIT_HOST_DEVICE constexpr std::uint64_t atomic_result(const AtomicRequest& request,
                                                         std::uint64_t old) {
  std::uint64_t result = old;
  if (request.kind == AtomicKind::fetch_add) {
    result = add_fields(old, request.swap_add, request.boundary);
  } else if (((old ^ request.compare) & request.compare_mask) == 0) {
    result = (old & ~request.swap_mask) | (request.swap_add & request.swap_mask);
  }
  return request.size == 4 ? result & 0xffffffffu : result;
}

}  // namespace gdakit::softnic

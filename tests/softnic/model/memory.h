// The memory of one NIC and its client, and beside it what each byte should be.
//
//   | canary | part | canary | part | ... | canary |      a part's place is its offset
//
// The client writes both copies; the NIC writes the first, and whoever knows what it should have
// written there takes it over to the second. A difference at the end is a byte that nobody
// expected.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "core/base/bits.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test::model {

// Bytes of the memory of one NIC.
struct Piece {
  std::size_t offset = 0;
  std::uint32_t size = 0;
};

class ShadowedMemory {
 public:
  explicit ShadowedMemory(std::size_t size) : pages_(size), expected_(size, kCanary) {
    std::memset(pages_.data(), kCanary, size);
  }

  // A part of zeros, aligned to 64 bytes, with canaries on both sides.
  std::size_t carve(std::size_t size) {
    const std::size_t part = used_ + kGap;
    used_ = part + round_up(size, kGap);
    GDAKIT_ASSERT(used_ + kGap <= expected_.size());
    std::memset(at(part), 0, size);
    accept(part, size);
    return part;
  }
  // What carve() needs for a part of that size.
  static constexpr std::size_t room(std::size_t size) { return round_up(size, kGap) + kGap; }

  std::uint8_t* at(std::size_t offset) const { return pages_.data() + offset; }
  const std::uint8_t* expected(std::size_t offset) const { return expected_.data() + offset; }
  DmaAddress address(std::size_t offset) const { return host_address(at(offset)); }

  // The client writes.
  void store(std::size_t offset, const void* from, std::size_t size) {
    std::memcpy(at(offset), from, size);
    std::memcpy(expected_.data() + offset, from, size);
  }
  void fill(std::size_t offset, std::uint8_t byte, std::size_t size) {
    std::memset(at(offset), byte, size);
    accept(offset, size);
  }
  // What lies there is what should.
  void accept(std::size_t offset, std::size_t size) {
    std::memcpy(expected_.data() + offset, at(offset), size);
  }
  // The offset of a byte that is not as it should be, or -1.
  std::ptrdiff_t difference() const {
    if (std::memcmp(pages_.data(), expected_.data(), expected_.size()) == 0) return -1;
    std::size_t i = 0;
    while (pages_.data()[i] == expected_[i]) ++i;
    return static_cast<std::ptrdiff_t>(i);
  }

 private:
  static constexpr std::uint8_t kCanary = 0xc5;
  static constexpr std::size_t kGap = 64;

  Pages pages_;
  std::vector<std::uint8_t> expected_;
  std::size_t used_ = 0;
};

}  // namespace gdakit::softnic::test::model

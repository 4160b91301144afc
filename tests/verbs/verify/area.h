// Registered memory that is cut into slots, one for each message, in which every byte is known:
// those of its message by their offset and the message's key, and all others as guards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <infiniband/verbs.h>

#include "tests/verbs/verify/plan.h"

namespace gdakit::verify {

class Area {
 public:
  Area(ibv_pd* pd, const char* name, std::size_t slots, std::uint32_t slot_bytes);

  std::uint8_t* slot(std::size_t index) const { return memory_.get() + index * slot_bytes_; }
  std::uint64_t address(std::size_t index) const {
    return reinterpret_cast<std::uintptr_t>(slot(index));
  }
  const ibv_mr& region() const { return *region_; }

  // What a slot holds: guards, and in its pieces, one behind the other, `skipped` bytes that may be
  // anything and then a message.
  struct Contents {
    Pieces pieces;
    std::uint32_t skipped = 0;
    std::uint32_t length = 0;  // 0 is a slot of guards
    std::uint64_t key = 0;
  };
  void fill(std::size_t index, const Contents& contents) const;
  // Gives up, and names the first byte that is another.
  void check(std::size_t index, const Contents& contents, const Message& message) const;

  void put_word(std::size_t index, std::uint32_t offset, std::uint64_t value) const;
  void put_guards(std::size_t index, const Piece& piece) const;
  std::uint64_t word(std::size_t index, std::uint32_t offset) const;

 private:
  void draw(std::size_t index, const Contents& contents) const;

  const char* name_;
  std::uint32_t slot_bytes_;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::unique_ptr<ibv_mr, decltype(&ibv_dereg_mr)> region_;
  mutable std::vector<std::uint8_t> image_;  // of one slot
};

}  // namespace gdakit::verify

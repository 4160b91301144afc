#include "tests/verbs/verify/area.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/verbs/verify/meeting.h"

namespace gdakit::verify {
namespace {

constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

std::uint8_t guard_of(std::size_t index) { return static_cast<std::uint8_t>(0x5a + index); }

std::uint8_t byte_at(std::uint64_t key, std::uint32_t offset) {
  return static_cast<std::uint8_t>(mixed(key + offset / 8) >> (offset % 8 * 8));
}

// As byte_at(), eight bytes at a time.
void write_bytes(std::uint8_t* to, std::uint64_t key, std::uint32_t begin, std::uint32_t count) {
  std::uint32_t i = 0;
  while (i < count) {
    if ((begin + i) % 8 == 0 && count - i >= 8) {
      const std::uint64_t word = mixed(key + (begin + i) / 8);
      std::memcpy(to + i, &word, sizeof word);
      i += 8;
    } else {
      to[i] = byte_at(key, begin + i);
      ++i;
    }
  }
}

}  // namespace

Area::Area(ibv_pd* pd, const char* name, std::size_t slots, std::uint32_t slot_bytes)
    : name_(name),
      slot_bytes_(slot_bytes),
      memory_(new std::uint8_t[slots * slot_bytes]()),
      region_(ibv_reg_mr(pd, memory_.get(), slots * slot_bytes, kAllRights), ibv_dereg_mr),
      image_(slot_bytes) {
  if (region_ == nullptr) give_up("ibv_reg_mr failed");
}

void Area::draw(std::size_t index, const Contents& contents) const {
  std::fill(image_.begin(), image_.end(), guard_of(index));
  std::uint32_t passed = 0;  // bytes of the pieces before
  for (const Piece& piece : contents.pieces) {
    std::uint8_t* const to = image_.data() + piece.offset;
    const std::uint32_t skipped =
        std::min(piece.length, contents.skipped - std::min(passed, contents.skipped));
    std::memcpy(to, slot(index) + piece.offset, skipped);
    passed += skipped;
    const std::uint32_t begin = passed - std::min(passed, contents.skipped);
    const std::uint32_t left = contents.length - std::min(begin, contents.length);
    write_bytes(to + skipped, contents.key, begin, std::min(piece.length - skipped, left));
    passed += piece.length - skipped;
  }
}

void Area::fill(std::size_t index, const Contents& contents) const {
  draw(index, contents);
  std::memcpy(slot(index), image_.data(), slot_bytes_);
}

void Area::check(std::size_t index, const Contents& contents, const Message& message) const {
  draw(index, contents);
  if (std::memcmp(slot(index), image_.data(), slot_bytes_) == 0) return;
  const auto at = std::mismatch(image_.begin(), image_.end(), slot(index));
  std::string pieces;
  for (const Piece& piece : contents.pieces) {
    pieces += ' ' + std::to_string(piece.offset) + '+' + std::to_string(piece.length);
  }
  give_up("a %s of %u bytes: byte %td of slot %zu (%s; pieces%s) is 0x%02x, not 0x%02x",
          std::string(name_of(message.kind)).c_str(), message.length, at.first - image_.begin(),
          index, name_, pieces.c_str(), *at.second, *at.first);
}

void Area::put_word(std::size_t index, std::uint32_t offset, std::uint64_t value) const {
  std::memcpy(slot(index) + offset, &value, sizeof value);
}

void Area::put_guards(std::size_t index, const Piece& piece) const {
  std::memset(slot(index) + piece.offset, guard_of(index), piece.length);
}

std::uint64_t Area::word(std::size_t index, std::uint32_t offset) const {
  std::uint64_t value = 0;
  std::memcpy(&value, slot(index) + offset, sizeof value);
  return value;
}

}  // namespace gdakit::verify

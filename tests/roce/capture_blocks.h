// The blocks of a capture, read without the code that writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/roce/packets.h"

namespace gdakit::softnic::roce::test {

// A packet's block.
struct CapturedFrame {
  Bytes bytes;
  std::uint32_t original_bytes = 0;
  std::uint32_t direction = 0;  // 1 inbound, 2 outbound
  std::uint64_t dropped = 0;
  std::string comment;
};

struct CaptureBlocks {
  std::vector<CapturedFrame> frames;
  bool whole = true;  // the file ends where a block does
  bool has_statistics = false;
};

template <class Integer>
Integer integer_at(const Bytes& bytes, std::size_t offset) {
  Integer value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

inline CapturedFrame read_frame(const Bytes& file, std::size_t block, std::size_t length) {
  CapturedFrame frame;
  const auto captured = integer_at<std::uint32_t>(file, block + 20);
  frame.original_bytes = integer_at<std::uint32_t>(file, block + 24);
  const auto data = file.begin() + static_cast<std::ptrdiff_t>(block) + 28;
  frame.bytes.assign(data, data + captured);
  std::size_t at = block + 28 + (captured + 3) / 4 * 4;
  while (at < block + length - 4) {
    const auto code = integer_at<std::uint16_t>(file, at);
    const auto size = integer_at<std::uint16_t>(file, at + 2);
    const char* const value = reinterpret_cast<const char*>(file.data()) + at + 4;
    if (code == 1) frame.comment.assign(value, size);
    if (code == 2) std::memcpy(&frame.direction, value, sizeof frame.direction);
    if (code == 4) std::memcpy(&frame.dropped, value, sizeof frame.dropped);
    at += 4 + (std::size_t{size} + 3) / 4 * 4;
  }
  return frame;
}

inline CaptureBlocks read_blocks(const Bytes& file) {
  constexpr std::uint32_t kStatistics = 5, kPacket = 6;
  CaptureBlocks blocks;
  std::size_t at = 0;
  while (file.size() - at >= 12) {
    const auto type = integer_at<std::uint32_t>(file, at);
    const auto length = integer_at<std::uint32_t>(file, at + 4);
    if (length > file.size() - at) break;
    if (type == kPacket) blocks.frames.push_back(read_frame(file, at, length));
    blocks.has_statistics |= type == kStatistics;
    at += length;
  }
  blocks.whole = at == file.size();
  return blocks;
}

inline Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

}  // namespace gdakit::softnic::roce::test

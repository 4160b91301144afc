// Buffers for payload that travels by value, all of one size.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace gdakit::softnic {

class BufferPool {
 public:
  BufferPool(std::uint32_t count, std::uint32_t size);
  std::uint8_t* take();  // null: all are in use
  void give_back(std::uint8_t* buffer) { free_.push_back(buffer); }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace gdakit::softnic

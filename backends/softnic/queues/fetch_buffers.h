// Private copies of WQEs, one for each queue pair that has some to work on: as many as queue pairs
// have had at once, whatever the number of queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/format/wqe.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kFetchWqebbs = 128;  // a fetch; at least the longest WQE

class FetchBuffers {
 public:
  // Room for kFetchWqebbs.
  std::uint8_t* take() {
    if (free_.empty()) add();
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  // Nothing reads or writes it any more.
  void give_back(std::uint8_t* buffer) { free_.push_back(buffer); }

 private:
  struct alignas(64) Buffer {
    std::array<std::uint8_t, kFetchWqebbs * format::kWqebbBytes> bytes;
  };

  void add() {
    all_.push_back(std::make_unique_for_overwrite<Buffer>());
    free_.reserve(all_.capacity());
    free_.push_back(all_.back()->bytes.data());
  }

  std::vector<std::unique_ptr<Buffer>> all_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace gdakit::softnic

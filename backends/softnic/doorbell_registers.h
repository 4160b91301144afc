// The doorbell registers of one NIC's queues: handed out page by page, each on a cache line of its
// own, so that queues do not slow each other.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/softnic/engine/nic.h"
#include "core/base/result.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {

class DoorbellRegisters {
 public:
  struct Register {
    UarNumber uar;
    std::uint64_t* word;
  };

  Result<Register> take(Nic& nic) {
    if (free_.empty()) {
      Result<Uar> uar = nic.alloc_uar(UarType::dense);
      if (!uar) return uar.error();
      for (std::uint32_t at = format::kUarDoorbellBegin; at < format::kUarDoorbellEnd;
           at += kDoorbellStride) {
        char* const page = static_cast<char*>(uar->page);
        free_.push_back({uar->number, reinterpret_cast<std::uint64_t*>(page + at)});
      }
    }
    const Register taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void give_back(const Register& taken) { free_.push_back(taken); }

 private:
  static constexpr std::uint32_t kDoorbellStride = 64;  // a cache line each

  std::vector<Register> free_;
};

}  // namespace gdakit::softnic

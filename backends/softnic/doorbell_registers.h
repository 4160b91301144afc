// The doorbell registers of one NIC's queues: handed out page by page, each on a cache line of its
// own, so that queues do not slow each other. A queue without a doorbell record has a page of its
// own, a new one: what an old one still held could be its first doorbell, and nobody would see that
// it was rung.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/softnic/engine/nic.h"
#include "core/base/result.h"
#include "core/format/cq_doorbell.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {

class DoorbellRegisters {
 public:
  struct Register {
    UarNumber uar;
    std::uint64_t* word;
    bool has_page = false;  // of its own
  };

  Result<Register> take(Nic& nic, bool recordless) {
    if (recordless) {
      const Result<Uar> uar = nic.alloc_uar(UarType::registers);
      if (!uar) return uar.error();
      return Register{uar->number, word_at(*uar, format::kUarNoRecordDoorbell), true};
    }
    if (free_.empty()) {
      Result<Uar> uar = nic.alloc_uar(UarType::dense);
      if (!uar) return uar.error();
      for (std::uint32_t at = format::kUarDoorbellBegin; at < format::kUarDoorbellEnd;
           at += kDoorbellStride) {
        free_.push_back({uar->number, word_at(*uar, at)});
      }
    }
    const Register taken = free_.back();
    free_.pop_back();
    return taken;
  }

  // The queue is gone.
  void give_back(Nic& nic, const Register& taken) {
    if (taken.has_page) {
      static_cast<void>(nic.free_uar(taken.uar));
    } else {
      free_.push_back(taken);
    }
  }

 private:
  static std::uint64_t* word_at(const Uar& uar, std::uint32_t offset) {
    return reinterpret_cast<std::uint64_t*>(static_cast<char*>(uar.page) + offset);
  }

  static constexpr std::uint32_t kDoorbellStride = 64;  // a cache line each

  std::vector<Register> free_;
};

}  // namespace gdakit::softnic

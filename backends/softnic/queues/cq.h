// A completion queue: where CQEs go, and when it has no room for one.
//
//   consumer            producer            consumer + entries
//      v                   v                   v
//      | not yet consumed  | free              |
//
// The consumer index is read from the doorbell record only when the ring looks full.
#pragma once

#include <cstdint>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/objects/attributes.h"
#include "core/base/endian.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

class Cq {
 public:
  // What became of a CQE. `not_yet`: try again; `lost`: the CQ has overrun.
  enum class Posted : std::uint8_t { written, not_yet, lost };

  // The port outlives the CQ. short_cqes: as EngineOptions has it.
  Cq(CqNumber number, const CqAttributes& attributes, DmaPort& port, bool short_cqes);

  CqNumber number() const { return number_; }
  // What it writes to.
  MemoryRange entries() const;
  bool overrun() const { return overrun_; }

  // Writes the CQE, once its owner bit, time and signature are filled in.
  Posted post(format::Cqe64& cqe, std::uint64_t now_ns);

  std::uint32_t users = 0;  // queues that post here; whoever makes and destroys them counts

 private:
  bool done(DmaOp op) { return op.id == 0 || port_.done(op); }
  std::uint64_t capacity() const { return std::uint64_t{1} << attributes_.log_entries; }
  Posted make_room();
  void write(const format::Cqe64& cqe);

  DmaPort& port_;
  const bool ordered_;
  const bool short_cqes_;
  const CqNumber number_;
  const CqAttributes attributes_;
  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;  // as last read from the doorbell record
  DmaOp last_;                  // the CQE written last
  bool succeeded_ = false;      // ... says that all went well
  bool overrun_ = false;
  bool reading_ = false;  // the consumer index
  DmaOp read_;
  Be32 record_{0};
};

}  // namespace gdakit::softnic

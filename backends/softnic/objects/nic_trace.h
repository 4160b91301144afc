// What a NIC tells a timeline of its queues: where each WQE is, from the doorbell to the CQE. What
// each event has, core/host/trace/trace_record.h says. Packets are told by the wire (trace_wire.h).
//
// All calls come from one thread at a time, the one that runs the engine's step. None waits. Where
// nobody traces there is no NicTrace, and an engine only finds that out.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/softnic/objects/attributes.h"
#include "core/host/trace/trace_record.h"

namespace gdakit {

class TraceFile;

}  // namespace gdakit

namespace gdakit::softnic {

class NicTrace {
 public:
  explicit NicTrace(std::unique_ptr<TraceFile> file);
  ~NicTrace();

  void doorbell(QpNumber qp, std::uint16_t producer);
  // `began_ns`: as now_ns() said it.
  void fetched(QpNumber qp, std::uint64_t index, std::uint64_t wqebbs, std::uint64_t began_ns);
  void wqe_begins(QpNumber qp, std::uint32_t index, std::uint8_t opcode, std::uint64_t bytes);
  void wqe_ends(QpNumber qp, std::uint32_t index, std::uint8_t opcode, TraceEnd how);
  void cqe(QpNumber qp, std::uint16_t wqe, std::uint8_t opcode, std::uint8_t syndrome,
           std::uint64_t began_ns);
  void cqe_lost(QpNumber qp, std::uint16_t wqe, std::uint8_t opcode, std::uint8_t syndrome);
  // The record has its time.
  void add(const TraceRecord& record);

  // By which all processes of a host go.
  static std::uint64_t now_ns();

 private:
  std::unique_ptr<TraceFile> file_;
};

}  // namespace gdakit::softnic

#include "backends/softnic/objects/nic_trace.h"

#include <utility>

#include "core/base/wait_clock.h"
#include "core/host/trace/trace_file.h"

namespace gdakit::softnic {
namespace {

TraceRecord record_of(TraceKind kind, QpNumber qp, std::uint64_t index) {
  TraceRecord record;
  record.kind = kind;
  record.time_ns = steady_ns();
  record.queue = qp;
  record.index = index;
  return record;
}

}  // namespace

NicTrace::NicTrace(std::unique_ptr<TraceFile> file) : file_(std::move(file)) {}

NicTrace::~NicTrace() = default;

void NicTrace::add(const TraceRecord& record) { file_->add(record); }

std::uint64_t NicTrace::now_ns() { return steady_ns(); }

void NicTrace::doorbell(QpNumber qp, std::uint16_t producer) {
  add(record_of(TraceKind::doorbell, qp, producer));
}

void NicTrace::fetched(QpNumber qp, std::uint64_t index, std::uint64_t wqebbs,
                       std::uint64_t began_ns) {
  TraceRecord record = record_of(TraceKind::fetch, qp, index);
  record.size = wqebbs;
  record.value = began_ns;
  add(record);
}

void NicTrace::wqe_begins(QpNumber qp, std::uint32_t index, std::uint8_t opcode,
                          std::uint64_t bytes) {
  TraceRecord record = record_of(TraceKind::wqe_begin, qp, index);
  record.of.opcode = opcode;
  record.size = bytes;
  add(record);
}

void NicTrace::wqe_ends(QpNumber qp, std::uint32_t index, std::uint8_t opcode, TraceEnd how) {
  TraceRecord record = record_of(TraceKind::wqe_end, qp, index);
  record.of.opcode = opcode;
  record.of.detail = static_cast<std::uint32_t>(how);
  add(record);
}

void NicTrace::cqe_lost(QpNumber qp, std::uint16_t wqe, std::uint8_t opcode,
                        std::uint8_t syndrome) {
  TraceRecord record = record_of(TraceKind::cqe_lost, qp, wqe);
  record.of.opcode = opcode;
  record.of.detail = syndrome;
  add(record);
}

void NicTrace::cqe(QpNumber qp, std::uint16_t wqe, std::uint8_t opcode, std::uint8_t syndrome,
                   std::uint64_t began_ns) {
  TraceRecord record = record_of(TraceKind::cqe, qp, wqe);
  record.of.opcode = opcode;
  record.of.detail = syndrome;
  record.value = began_ns;
  add(record);
}

}  // namespace gdakit::softnic

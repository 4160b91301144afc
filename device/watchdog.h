// No silent hang: every wait loop of the protocol turns on a Watchdog, and what a wait that took
// too long saw is kept for the host to print (core/host/stall.h).
#pragma once

#include "device/machine.h"
#include "device/order.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

// Counts the turns of one wait loop and looks at the clock now and then.
template <class M>
class Watchdog {
 public:
  GDAKIT_DEVICE Watchdog(M& m, std::uint64_t limit_ns, Site site)
      : m_(m), limit_ns_(limit_ns), site_(site) {}

  // One turn. False once the limit has passed; never false when the limit is 0.
  GDAKIT_DEVICE bool turn() {
    m_.spin(site_);
    if (limit_ns_ == 0 || ++turns_ % kTurnsPerClock != 0) return true;
    const std::uint64_t now = m_.clock_ns();
    if (turns_ == kTurnsPerClock) start_ns_ = now;
    waited_ns_ = now - start_ns_;
    return waited_ns_ < limit_ns_;
  }

  GDAKIT_DEVICE std::uint64_t waited_ns() const { return waited_ns_; }

 private:
  static constexpr std::uint64_t kTurnsPerClock = 16;  // a GPU's global timer is slow to read

  M& m_;
  std::uint64_t limit_ns_;
  Site site_;
  std::uint64_t turns_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t waited_ns_ = 0;
};

inline constexpr std::uint64_t kReportNone = 0;
inline constexpr std::uint64_t kReportBeingWritten = 1;
inline constexpr std::uint64_t kReportComplete = 2;

// Copies `fields` to `report` unless an earlier report stands there. The host may read it at any
// time.
template <class M, class Report>
GDAKIT_DEVICE void file_report(M& m, Report* report, const Report& fields) {
  const std::uint64_t before =
      m.compare_exchange(order::RelaxedSystem{}, &report->state, kReportNone, kReportBeingWritten);
  if (before != kReportNone) return;
  const std::size_t head = sizeof(report->state);
  m.copy(reinterpret_cast<char*>(report) + head, reinterpret_cast<const char*>(&fields) + head,
         sizeof(fields) - head);
  m.store(order::ReportBeforeState{}, &report->state, kReportComplete);
}

// Files a stall of the calling thread. `report` says what it waited for; identity is added here.
template <class M>
GDAKIT_DEVICE void report_stall(M& m, const DeviceContext& context, StallReport report) {
  report.block = m.block_index();
  report.thread = m.thread_index();
  file_report(m, &context.state->stall, report);
}

// Files an operation with a bad argument and returns the Status that says so.
template <class M>
GDAKIT_DEVICE Status report_fault(M& m, const DeviceContext& context, StatusCode code,
                                  std::int32_t peer, std::uint64_t address, std::uint64_t bytes) {
  file_report(m, &context.state->fault,
              FaultReport{0, static_cast<std::uint8_t>(code), {}, peer, address, bytes});
  return Status{code, format::Syndrome::none, peer};
}

}  // namespace gdakit

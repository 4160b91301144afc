// No silent hang: every wait loop of the protocol turns on a Watchdog, and what a wait that took
// too long saw is kept for the host to print (core/host/stall.h).
#pragma once

#include "core/base/type_identity.h"
#include "device/fault.h"
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

inline constexpr std::uint64_t kReportNone = 0;  // as it begins
GDAKIT_HOST_DEVICE constexpr bool is_complete_report(std::uint64_t state) { return state % 2 != 0; }

// Writes one field of a report.
template <class M, class T>
GDAKIT_DEVICE void note(M& m, T* field, type_identity_t<T> value) {
  m.store_weak(field, value);
}

// Has `fill(report)` write the fields unless an earlier report stands there, or is being written.
// The host may read it at any time. Fields are stored one by one as they are found out, so that
// none is kept. Threads compete for the claim rather than for the state, which the host's memory
// may hold: there a GPU cannot update a word in one step.
template <class M, class Report, class Fill>
GDAKIT_DEVICE void file_report(M& m, std::uint64_t* claim, Report* report, Fill&& fill) {
  const std::uint64_t open = m.load(order::RelaxedSystem{}, &report->state);
  if (is_complete_report(open)) return;
  const std::uint64_t complete = open + 1;
  if (m.fetch_max(order::RelaxedGpu{}, claim, complete) >= complete) return;
  fill(*report);
  m.store(order::ReportBeforeState{}, &report->state, complete);
}

// What every stall report of the calling thread says.
struct Stall {
  Site site;
  std::int32_t peer;
  std::uint32_t queue;
  std::uint64_t waited_ns;
  std::uint64_t target;
};

// Files a stall of the calling thread. `fill` adds what else is known.
template <class M, class Fill>
GDAKIT_DEVICE void report_stall(M& m, const DeviceContext& context, const Stall& stall,
                                Fill&& fill) {
  file_report(m, &context.words->stall_claim, &context.state->stall, [&](StallReport& report) {
    note(m, &report.site, stall.site);
    note(m, &report.peer, stall.peer);
    note(m, &report.queue, stall.queue);
    note(m, &report.block, m.block_index());
    note(m, &report.thread, m.thread_index());
    note(m, &report.waited_ns, stall.waited_ns);
    note(m, &report.target, stall.target);
    fill(report);
  });
}

// Files an operation with a bad argument and returns the Status that says so.
template <class M>
GDAKIT_DEVICE Status report_fault(M& m, const DeviceContext& context, Fault what, std::int32_t peer,
                                  std::uint64_t address, std::uint64_t bytes) {
  file_report(m, &context.words->fault_claim, &context.state->fault, [&](FaultReport& report) {
    note(m, &report.what, what);
    note(m, &report.peer, peer);
    note(m, &report.address, address);
    note(m, &report.bytes, bytes);
  });
  return Status{code_of(what), format::Syndrome::none, peer};
}

}  // namespace gdakit

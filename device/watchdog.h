// No silent hang: every wait loop of the protocol turns on a Watchdog, and what a wait that took
// too long saw is kept for the host to print (core/host/stall.h).
#pragma once

#include "core/base/type_identity.h"
#include "device/fault.h"
#include "device/loss.h"
#include "device/machine.h"
#include "device/order.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

// 0 unless a wait of this PE has stalled since the host last let all of them wait; then 1, and one
// more for each lock that broke after it. The claim lies in the device's memory and is 0 until the
// first stall, so that the host's memory is not looked at before.
template <class M, class Context>
GDAKIT_DEVICE std::uint64_t stalls_of(M& m, const Context& context) {
  if (m.load(order::RelaxedGpu{}, &context.words->stall_claim) == 0) return 0;
  return m.load(order::RelaxedSystem{}, &context.state->gives_up);
}

// How long a wait at `site` may last once another one has stalled, so that a kernel that goes on
// after a stall ends. A wait for a word or a message gives up at once: thousands may follow it. The
// others break a queue, a team or a lock, each of which can stall but once, and have time for one
// that is slow. There are few queues and teams, but a program may have any number of locks: when as
// many have broken as take a whole limit, the next ones get less, and still more than a healthy
// lock is held.
GDAKIT_HOST_DEVICE constexpr std::uint64_t limit_after_stall(std::uint64_t limit_ns, Site site,
                                                             std::uint64_t stalls) {
  constexpr std::uint64_t kSlowOnes = 16;
  if (site == Site::signal || site == Site::message) return 0;
  return limit_ns / (site == Site::lock && stalls > kSlowOnes ? 4096 : kSlowOnes);
}

// For how long no PE of this host has been stopped; for ever where the host does not tell. One that
// is stopped itself tells nothing: the second new word shows that it has looked since it runs.
template <class M>
GDAKIT_DEVICE std::uint64_t calm_ns(M m, const PeState* state, Site site) {
  std::uint64_t told = m.load(order::RelaxedSystem{}, &state->calm_ns);
  for (int news = 0; news < 2 && told > kNotCalm;) {
    m.spin(site);
    const std::uint64_t now = m.load(order::RelaxedSystem{}, &state->calm_ns);
    if (now != told) ++news;
    told = now;
  }
  return told == kCalmUntold ? ~std::uint64_t{0} : told;
}

// Counts the turns of one wait loop and looks at the clock now and then; a wait that succeeds soon
// looks at nothing. `Whom` says which lost PEs end the wait (loss.h).
template <class M, class Context = DeviceContext, class Whom = WaitsForNobody>
class Watchdog {
 public:
  GDAKIT_DEVICE Watchdog(M& m, const Context& context, Site site, Whom whom = {})
      : m_(m), context_(context), site_(site), whom_(whom) {}

  // One turn. False once the limit has passed, which is never where the limit is 0; or once a PE is
  // lost without which the wait may not end: lost_pe().
  GDAKIT_DEVICE bool turn() {
    m_.spin(site_);
    const std::uint64_t limit_ns = context_.watchdog_ns;
    if ((limit_ns == 0 && !Whom::kLooks) || ++turns_ % kTurnsPerClock != 0) return true;
    const std::uint64_t now = m_.clock_ns();
    if (turns_ == kTurnsPerClock) start_ns_ = looked_ns_ = now;
    if constexpr (Whom::kLooks) {
      if (has_lost(now)) return false;
      if (limit_ns == 0) return true;
    }
    waited_ns_ = now - start_ns_;
    if (waited_ns_ >= limit_ns) return !gives_up(now);
    if (site_ != Site::lock && waited_ns_ < limit_after_stall(limit_ns, site_, 1)) return true;
    const std::uint64_t stalls = stalls_of(m_, context_);
    return stalls == 0 || waited_ns_ < limit_after_stall(limit_ns, site_, stalls);
  }

  GDAKIT_DEVICE std::uint64_t waited_ns() const { return waited_ns_; }
  // The PE whose loss ended the wait; -1: the limit did.
  GDAKIT_DEVICE std::int32_t lost_pe() const { return lost_pe_; }

 private:
  GDAKIT_DEVICE bool has_lost(std::uint64_t now) {
    if (now - looked_ns_ >= kNsPerLook) {
      looked_ns_ = now;
      lost_pe_ = whom_.lost(m_, context_.state);
    }
    return lost_pe_ >= 0;
  }

  // The device's clock counts time in which a PE is stopped, unless its machine's stands then. What
  // was waited before somebody stopped is not known any more, and does not count.
  GDAKIT_DEVICE bool gives_up(std::uint64_t now) {
    const std::uint64_t calm = calm_ns(m_, context_.state, site_);
    if (calm >= context_.watchdog_ns) return true;
    start_ns_ = now - calm;
    return false;
  }

  static constexpr std::uint64_t kTurnsPerClock = 16;     // a GPU's global timer is slow to read
  static constexpr std::uint64_t kNsPerLook = 1'000'000;  // what the host tells is slower still

  M& m_;
  const Context& context_;
  Site site_;
  Whom whom_;
  std::int32_t lost_pe_ = -1;
  std::uint64_t turns_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
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

// Files a stall of the calling thread, and has the PE's other waits end soon. `fill` adds what else
// is known. A wait that gave up because of an earlier stall is none that a report is about.
template <class M, class Context, class Fill>
GDAKIT_DEVICE void report_stall(M& m, const Context& context, const Stall& stall, Fill&& fill) {
  const bool broke_early = stall.waited_ns < context.watchdog_ns;
  if (broke_early && stall.site != Site::lock) return;
  if (!broke_early) {
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
  // In two steps, as the host's memory may hold the word: of locks that break together one may go
  // uncounted, which costs a sixteenth of the limit. A count that the host has cleared meanwhile is
  // begun by what waited its whole limit, and not by what broke early.
  const std::uint64_t stalls = m.load(order::RelaxedSystem{}, &context.state->gives_up);
  if ((stalls == 0) == broke_early) return;
  m.store(order::RelaxedSystem{}, &context.state->gives_up, stalls + 1);
}

// Files an operation with a bad argument. A call: seldom, and nothing of it takes registers of
// usual posts.
template <class M>
GDAKIT_DEVICE_CALL void file_fault(M m, PeWords* words, PeState* state, Operation operation,
                                   Fault what, std::int32_t peer, std::uint64_t address,
                                   std::uint64_t bytes) {
  file_report(m, &words->fault_claim, &state->fault, [&](FaultReport& report) {
    note(m, &report.what, what);
    note(m, &report.operation, operation);
    note(m, &report.block, m.block_index());
    note(m, &report.thread, m.thread_index());
    note(m, &report.peer, peer);
    note(m, &report.address, address);
    note(m, &report.bytes, bytes);
  });
}

// The same, and returns the Status that says so.
template <class M, class Context>
GDAKIT_DEVICE Status report_fault(M& m, const Context& context, Operation operation, Fault what,
                                  std::int32_t peer, std::uint64_t address, std::uint64_t bytes) {
  file_fault(m, context.words, context.state, operation, what, peer, address, bytes);
  return Status{code_of(what), format::Syndrome::none, peer};
}

}  // namespace gdakit

#include "sim/world/aftermath.h"

#include <algorithm>
#include <cstddef>

#include "core/base/hex.h"
#include "core/host/stall.h"
#include "device/status.h"
#include "device/watchdog.h"
#include "sim/world/world_run.h"
#include "sim/world/wrong_value.h"

namespace gdakit::sim {
namespace {

// So many values are told of an expectation that does not hold.
constexpr std::size_t kMostLooks = 4;

}  // namespace

void After::read(std::uint32_t pe, std::uint64_t address, void* to, std::size_t bytes) {
  weak::Memory& memory = run_.world.memory();
  auto* const target = static_cast<unsigned char*>(to);
  for (std::size_t done = 0; done < bytes;) {
    std::uint32_t size = 8;
    while (size > bytes - done || (address + done) % size != 0) size /= 2;
    const weak::Address at = run_.world.space().model(pe, address + done);
    const std::uint64_t piece =
        memory.load(run_.host, at, size, {.speculative = true, .untraced = true});
    std::memcpy(target + done, &piece, size);
    outcome(piece);
    if (run_.world.facts(at).of_user) looks_.push_back({at, piece, size});
    done += size;
  }
}

void After::outcome(std::uint64_t value) {
  run_.outcome = (run_.outcome ^ value) * 0x100000001b3u + 1;
}

void After::expect(bool holds, const std::string& what, CallPlace at) {
  judge(holds, what, at, true);
}

void After::judge(bool holds, const std::string& what, CallPlace at, bool tell_looks) {
  weak::Memory& memory = run_.world.memory();
  if (!holds && memory.finding() == FindingKind::none) {
    std::string text = "does not hold: " + what;
    for (std::size_t i = 0; tell_looks && i < std::min(looks_.size(), kMostLooks); ++i) {
      text += (i == 0 ? "; " : ", ") + run_.world.place(looks_[i].at) + " is " +
              hex_number(looks_[i].value);
    }
    memory.find(FindingKind::invariant, text);
    if (run_.trace != nullptr) trace_looks(at);
  }
  looks_.clear();
}

// What was looked at last tells most: its past is explained.
void After::trace_looks(CallPlace at) {
  for (const Look& look : looks_) {
    Event event{.lane = run_.world.memory().lane_of(run_.host), .kind = EventKind::check};
    event.what = "check";
    event.where = run_.world.place(look.at);
    event.file = at.file;
    event.line = at.line;
    event.bytes = look.bytes;
    event.value = look.value;
    event.reads_from = writer_of(*run_.trace, event.where, look.value);
    event.of_user = true;
    run_.trace->events.push_back(std::move(event));
  }
  for (std::size_t i = 0; i < looks_.size() && run_.trace->missing.empty(); ++i) {
    explain_wrong_value(run_.world.memory(), run_.trace->events.size() - looks_.size() + i,
                        *run_.trace);
  }
}

const QueueView& After::view(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) const {
  return run_.pes[pe].views[queue * run_.world.options().pes + peer];
}

QueueState After::queue_state(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) {
  return value(pe, view(pe, queue, peer).state);
}

softnic::QpInfo After::nic_queue(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) {
  const std::uint32_t number = queue * run_.world.options().pes + peer;
  return *run_.nic_of(pe, number).engine().query_qp(run_.pes[pe].qpns[number]);
}

NicCounters After::nic_counters(std::uint32_t pe, std::uint32_t nic) const {
  return run_.nics[nic * run_.world.options().pes + pe].engine().counters();
}

std::uint16_t After::record(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) {
  return static_cast<std::uint16_t>(
      static_cast<std::uint32_t>(Be32::from_raw(value(pe, view(pe, queue, peer).record))));
}

// All but the address of lost_words(), which is another one in each world and would tell executions
// apart that are the same.
PeState After::pe_state(std::uint32_t pe) {
  static_assert(offsetof(PeState, lost) + sizeof(PeState::lost) == sizeof(PeState));
  PeState state{};
  const auto at = reinterpret_cast<std::uint64_t>(run_.pes[pe].context.state);
  read(pe, at, &state, offsetof(PeState, lost));
  return state;
}

void After::expect_quiet() {
  const WorldOptions& options = run_.world.options();
  for (std::uint32_t pe = 0; pe < options.pes; ++pe) {
    for (std::uint32_t number = 0; number < run_.pes[pe].views.size(); ++number) {
      if (!run_.world.has_qp(pe, number)) continue;
      const std::uint32_t queue = number / options.pes;
      const std::uint32_t peer = number % options.pes;
      const softnic::QpInfo nic = nic_queue(pe, queue, peer);
      if (nic.send_producer == options.start_index &&
          nic.first_error.syndrome == format::Syndrome::none)
        continue;
      const std::string name = "PE " + std::to_string(pe) + " queue " + std::to_string(queue) +
                               " to PE " + std::to_string(peer);
      expect(nic.first_error.syndrome == format::Syndrome::none,
             name + " is healthy; the NIC found " + gdakit::describe(nic.first_error.syndrome) +
                 " at WQE " + std::to_string(nic.first_error.wqe_index));
      const QueueState state = queue_state(pe, queue, peer);
      expect(state.error == 0, name + " is healthy for its threads");
      expect(nic.send_producer == state.reserved,
             name + ": the NIC knows of all " + std::to_string(state.reserved) +
                 " WQEBBs that were reserved, not of " + std::to_string(nic.send_producer));
      expect(nic.send_completed == state.reserved, name + ": all WQEBBs have completed");
      expect(state.posted == state.reserved, name + ": posted is reserved");
      expect(state.completed <= state.posted, name + ": completed is not beyond posted");
      if (view(pe, queue, peer).recordless) continue;
      expect(record(pe, queue, peer) == format::wire_index(state.posted),
             name + ": the doorbell record names the last WQEBB, " +
                 std::to_string(format::wire_index(state.posted)) + ", not " +
                 std::to_string(record(pe, queue, peer)));
    }
    for (std::uint32_t nic = 0; nic < options.nics; ++nic) {
      expect(nic_counters(pe, nic).dropped_doorbells == 0,
             "the NIC of PE " + std::to_string(pe) + " understands every doorbell");
    }
    const PeState reports = pe_state(pe);
    expect(reports.stall.state == kReportNone, "PE " + std::to_string(pe) + " reports no stall");
    expect(reports.fault.state == kReportNone,
           "PE " + std::to_string(pe) + " reports no bad argument");
  }
}

}  // namespace gdakit::sim

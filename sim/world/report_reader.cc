#include "device/watchdog.h"
#include "sim/world/world_run.h"

namespace gdakit::sim {
namespace {

constexpr std::uint32_t kMaxLooks = 64;

}  // namespace

bool ReportReader::can_go(std::uint64_t) const {
  return !done_ && looks_ < kMaxLooks && run_.world.memory().version() != looked_at_;
}

void ReportReader::go(std::uint64_t) {
  looked_at_ = run_.world.memory().version();
  ++looks_;
  const auto state = reinterpret_cast<std::uint64_t>(run_.pes[pe_].context.state);
  done_ = read(state + offsetof(PeState, stall), sizeof(StallReport)) ||
          read(state + offsetof(PeState, fault), sizeof(FaultReport));
}

// Reads a report once it is complete: what is then missing is a race.
bool ReportReader::read(std::uint64_t report, std::uint64_t bytes) {
  weak::Memory& memory = run_.world.memory();
  const weak::Address at = run_.world.space().model(pe_, report);
  const weak::Access acquire{.sem = weak::Sem::acquire, .scope = Scope::system};
  if (!is_complete_report(memory.load(agent_, at, 8, acquire))) return false;
  for (std::uint64_t offset = 8; offset < bytes; offset += 8)
    memory.load(agent_, at + offset, 8, {});
  return true;
}

}  // namespace gdakit::sim

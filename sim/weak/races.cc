// Races: two accesses to the same bytes, one of them a write, that nothing orders and that are not
// morally strong. PTX promises nothing of what they read.
#include "sim/weak/memory.h"

namespace gdakit::sim::weak {
namespace {

constexpr std::uint16_t kFirstReads = 4;

}  // namespace

// `unknown`: the writes there that the agent does not know of.
void Memory::check_known(const Granule& granule, const Op& op, Slots unknown, bool op_writes,
                         std::uint32_t event) {
  for (Slots rest = unknown; rest != 0; rest = without_first(rest)) {
    const Write& write = granule.writes[first_slot(rest)];
    if (morally_strong(op, write)) continue;
    report_race(op,
                {write.agent, write.mask, write.strong, true, op_writes, write.event, write.time},
                event);
  }
}

void Memory::check_write(const Granule& granule, const Op& op, std::uint32_t event) {
  const Slots overlap = overlapping(granule, op.mask);
  const Slots unknown = overlap & ~known(granule, overlap, op.clock);
  if (unknown != 0) check_known(granule, op, unknown, true, event);
  for (std::uint16_t i = 0; i < granule.read_count; ++i) {
    const Read& read = granule.reads[i];
    if (read.agent == op.agent || (read.mask & op.mask) == 0) continue;
    if (op.clock[read.agent] >= read.time) continue;
    Write as_write;
    as_write.agent = read.agent;
    as_write.mask = read.mask;
    as_write.strong = read.strong;
    as_write.scope = read.scope;
    if (morally_strong(op, as_write)) continue;
    report_race(op, {read.agent, read.mask, read.strong, false, true, read.event, read.time},
                event);
  }
}

void Memory::record_read(Granule& granule, const Op& op, std::uint32_t event) {
  const Read read{op.time, event, op.agent, op.mask, is_strong(op.access.sem), op.access.scope};
  for (std::uint16_t i = 0; i < granule.read_count; ++i) {
    Read& other = granule.reads[i];
    const bool same = other.agent == read.agent && other.mask == read.mask &&
                      other.strong == read.strong && other.scope == read.scope;
    if (!same) continue;
    other = read;
    return;
  }
  if (granule.read_count == granule.read_capacity) {
    const auto capacity = static_cast<std::uint16_t>(
        granule.read_capacity == 0 ? kFirstReads : granule.read_capacity * 2);
    Read* const reads = pool_.take<Read>(capacity);
    for (std::uint16_t i = 0; i < granule.read_count; ++i) reads[i] = granule.reads[i];
    granule.reads = reads;
    granule.read_capacity = capacity;
  }
  granule.reads[granule.read_count++] = read;
}

void Memory::report_race(const Op& op, const Rival& rival, std::uint32_t event) {
  if (finding_ != FindingKind::none) return;
  const bool strong = rival.strong && is_strong(op.access.sem);
  const bool mixed = strong && rival.mask != op.mask &&
                     includes(agents_[op.agent].place, op.access.scope, agents_[rival.agent].place);
  const Address address = op.granule * 8 + op.shift / 8;
  const std::string why = missing_order(rival.agent, rival.time, op.agent);
  std::string text = names_.agent(op.agent) + (rival.op_writes ? " writes " : " reads ") +
                     names_.place(address) + ", which " + names_.agent(rival.agent) +
                     (rival.wrote ? " has written" : " has read");
  text += mixed ? " in another size, and nothing orders the two"
                : (strong ? ", at scopes that do not include both, and nothing orders the two"
                          : "; one of the two accesses is weak, and nothing orders them");
  find(mixed ? FindingKind::mixed_size : FindingKind::race, text + ": " + why);
  if (trace_ != nullptr) trace_->missing.push_back({rival.event, event, text + ": " + why + "."});
}

}  // namespace gdakit::sim::weak

#include "sim/world/doorbells.h"

#include <cstddef>
#include <cstdio>
#include <string>

#include "core/base/assert.h"

namespace gdakit::sim {
namespace {

std::string register_name(const Doorbells::Arrived& doorbell) {
  char text[48];
  std::snprintf(text, sizeof text, "UAR %u register 0x%x", doorbell.uar, doorbell.offset);
  return text;
}

}  // namespace

void Doorbells::store(weak::AgentId thread, softnic::UarNumber uar, std::uint32_t offset,
                      std::uint64_t value) {
  flying_.push_back({{uar, offset, value}, memory_.send(thread)});
  find_ready();
}

bool Doorbells::must_precede(const Flying& first, const Flying& then) const {
  const bool same = first.what.uar == then.what.uar && first.what.offset == then.what.offset;
  return (same && memory_.known_before(first.message, then.message)) ||
         memory_.released_before(first.message, then.message, nic_);
}

void Doorbells::find_ready() {
  ready_.clear();
  for (std::uint32_t i = 0; i < flying_.size(); ++i) {
    bool free = true;
    // Whoever must go first left earlier.
    for (std::uint32_t k = 0; free && k < i; ++k) free = !must_precede(flying_[k], flying_[i]);
    if (free) ready_.push_back(i);
  }
}

// Whether another store to the same register is under way, which may arrive right behind this one.
bool Doorbells::has_follower(std::uint32_t index) const {
  const Arrived& own = flying_[index].what;
  for (std::uint32_t i = 0; i < flying_.size(); ++i) {
    const Arrived& other = flying_[i].what;
    if (i != index && other.uar == own.uar && other.offset == own.offset) return true;
  }
  return false;
}

Doorbells::Fate Doorbells::choose_fate(std::uint32_t index) {
  const bool merges = knobs_.doorbell_merge == DoorbellMerge::merge && has_follower(index);
  if (merges && chooser_.choose(Choice::fault, 2) != 0) return Fate::overwritten;
  const bool loses = knobs_.doorbell_loss == DoorbellLoss::lost;
  if (loses && chooser_.choose(Choice::fault, 2) != 0) return Fate::lost;
  return Fate::arrives;
}

std::optional<Doorbells::Arrived> Doorbells::deliver(std::uint32_t index, bool surely) {
  GDAKIT_ASSERT(index < ready_.size());
  const std::uint32_t at = ready_[index];
  const Flying flying = flying_[at];
  const Fate fate = surely ? Fate::arrives : choose_fate(at);
  flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(at));
  find_ready();
  if (memory_.tracing()) {
    Event event{.lane = lane_, .kind = EventKind::doorbell, .what = "doorbell arrives"};
    if (fate == Fate::lost) event.what = "doorbell is lost";
    if (fate == Fate::overwritten) event.what = "doorbell is overwritten by another one, unseen";
    event.where = register_name(flying.what);
    event.bytes = sizeof flying.what.value;
    event.value = flying.what.value;
    memory_.note(std::move(event));
  }
  if (fate != Fate::arrives) return std::nullopt;
  memory_.receive(nic_, flying.message);
  return flying.what;
}

}  // namespace gdakit::sim

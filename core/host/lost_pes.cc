#include "core/host/lost_pes.h"

#include <algorithm>
#include <chrono>

#include "core/base/library_thread.h"

namespace gdakit {
namespace {

// Between two looks, of a PE of a small job. Those of a large one, which may be threads of one
// process, look less often, all together as often as 250 do.
constexpr std::chrono::microseconds kBetweenLooks{50'000};
constexpr std::chrono::microseconds kForEachPe{200};
constexpr std::chrono::microseconds kMostBetweenLooks{200'000};

}  // namespace

Result<std::unique_ptr<LostPes>> LostPes::watch(Bootstrap& bootstrap, MemoryProvider& memory,
                                                Log log) {
  const auto bytes = static_cast<std::size_t>(bootstrap.size()) * sizeof(std::uint64_t);
  Result<std::unique_ptr<MemoryBlock>> table = memory.allocate(bytes, Place::shared);
  if (!table) return table.error();
  return std::unique_ptr<LostPes>(new LostPes(bootstrap, std::move(*table), log));
}

LostPes::LostPes(Bootstrap& bootstrap, std::unique_ptr<MemoryBlock> table, Log log)
    : bootstrap_(bootstrap), table_(std::move(table)), log_(log) {
  thread_ = start_library_thread([this] { run(); });
}

LostPes::~LostPes() { stop(); }

void LostPes::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void LostPes::run() {
  const auto between = std::clamp(kForEachPe * bootstrap_.size(), kBetweenLooks, kMostBetweenLooks);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, between, [this] { return stopping_; })) {
    lock.unlock();  // who reads stderr may be slow
    look();
    lock.lock();
  }
}

void LostPes::look() {
  for (const LostPe& loss : bootstrap_.take_losses()) note(loss);
}

// A kernel that sees the count, or the new loss, sees the PE's word.
void LostPes::note(const LostPe& loss) {
  bool is_consequence = false;
  {
    const std::lock_guard lock(mutex_);
    if (find(loss.pe) != nullptr) return;
    is_consequence = std::ranges::any_of(lost_, &LostPe::ends_job);
    lost_.push_back(loss);
    if (new_loss_ < 0) new_loss_ = loss.pe;
    auto* const words = static_cast<std::uint64_t*>(table_->data());
    __atomic_store_n(&words[loss.pe], 1, __ATOMIC_RELEASE);
    for (PeState* const state : states_) write(*state);
  }
  is_consequence ? log_.info(loss.why) : log_.warn(loss.why);
}

void LostPes::write(PeState& state) const {
  __atomic_store_n(&state.losses, lost_.size(), __ATOMIC_RELEASE);
  __atomic_store_n(&state.new_loss, static_cast<std::uint64_t>(new_loss_ + 1), __ATOMIC_RELEASE);
}

void LostPes::tell(PeState& state) {
  const std::lock_guard lock(mutex_);
  state.lost = reinterpret_cast<std::uintptr_t>(table_->data());
  write(state);
  states_.push_back(&state);
}

void LostPes::forget(PeState& state) {
  const std::lock_guard lock(mutex_);
  std::erase(states_, &state);
}

const LostPe* LostPes::find(int pe) const {
  const auto is_it = [pe](const LostPe& known) { return known.pe == pe; };
  const auto found = std::ranges::find_if(lost_, is_it);
  return found == lost_.end() ? nullptr : &*found;
}

std::vector<int> LostPes::known() const {
  std::vector<int> pes;
  for (const LostPe& lost : lost_) pes.push_back(lost.pe);
  std::ranges::sort(pes);
  return pes;
}

std::vector<int> LostPes::pes() const {
  const std::lock_guard lock(mutex_);
  return known();
}

std::vector<int> LostPes::acknowledge() {
  const std::lock_guard lock(mutex_);
  new_loss_ = -1;
  for (PeState* const state : states_) write(*state);
  return known();
}

std::optional<LostPe> LostPes::end_of_job() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(lost_, &LostPe::ends_job);
  return found == lost_.end() ? std::nullopt : std::optional(*found);
}

std::optional<LostPe> LostPes::new_loss() const {
  const std::lock_guard lock(mutex_);
  const LostPe* const found = find(new_loss_);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<LostPe> LostPes::loss_of(int pe) const {
  const std::lock_guard lock(mutex_);
  const LostPe* const found = find(pe);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace gdakit

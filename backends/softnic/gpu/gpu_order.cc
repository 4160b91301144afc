#include "backends/softnic/gpu/gpu_order.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/wait_clock.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxWorks = 1024;
constexpr std::uint32_t kMaxFlights = 32;
constexpr std::chrono::seconds kEndLimit{5};

// Acquire: what the GPU wrote before is visible, too.
template <class Word>
Word load(const Word& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

}  // namespace

std::shared_ptr<GpuOrder> GpuOrder::create(std::unique_ptr<GpuDevice> device,
                                           const GpuOrderOptions& options) {
  std::shared_ptr<GpuOrder> order(new GpuOrder(std::move(device), options));
  return order->allocate() ? order : nullptr;
}

GpuOrder::GpuOrder(std::unique_ptr<GpuDevice> device, const GpuOrderOptions& options)
    : options_(options), device_(std::move(device)), works_(kMaxWorks), flights_(kMaxFlights) {}

bool GpuOrder::allocate() {
  void* const controls = device_->pinned(kGpuLaunchSlots * sizeof(GpuControl));
  void* const marks = device_->pinned(256);
  void* const ring = device_->pinned(options_.ring_bytes);
  if (controls == nullptr || marks == nullptr || ring == nullptr) return false;
  controls_ = static_cast<GpuControl*>(controls);
  marks_ = static_cast<std::uint64_t*>(marks);
  scratch_ = marks_ + 16;
  ring_ = GpuRing(ring, options_.ring_bytes);
  for (GpuStream& stream : streams_) stream = device_->make_stream(StreamFor::copies_and_kernels);
  return true;
}

GpuOrder::~GpuOrder() {
  const auto limit = std::chrono::steady_clock::now() + kEndLimit;
  while (!quiet() && std::chrono::steady_clock::now() < limit) {
    hurry();
    advance();
    std::this_thread::yield();
  }
}

void GpuOrder::submit(GpuWork& work) {
  work.state.store(GpuWork::State::waiting, std::memory_order_relaxed);
  const std::lock_guard lock(incoming_mutex_);
  incoming_.push_back(&work);
  submitted_.fetch_add(1, std::memory_order_release);
}

void GpuOrder::advance() {
  if (quiet() && !hurry_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  advance_locked();
  const bool hurried = hurry_.exchange(false, std::memory_order_relaxed);
  const bool late = marked_ != seq_ && now_ns_ - unmarked_since_ns_ >= options_.mark_ns;
  if (hurried || late) mark();
}

void GpuOrder::advance_locked() {
  now_ns_ = steady_ns();
  take_incoming();
  if (device_->failed()) {
    give_up();
    return;
  }
  retire();
  look_for_drained();
  look_for_stuck();
  start_works();
}

void GpuOrder::take_incoming() {
  const std::lock_guard lock(incoming_mutex_);
  for (GpuWork* const work : incoming_) works_.push() = work;
  incoming_.clear();
}

void GpuOrder::retire() {
  while (!flights_.empty()) {
    Flight& flight = flights_.front();
    if (flight.kernel) {
      const GpuControl& control = controls_[flight.slot];
      // In this order: a launch that has left has finished, too.
      const bool left = load(control.left) != 0;
      if (!flight.told && load(control.finished) != 0) {
        flight.told = true;
        finish(flight);
      }
      if (!left) return;
      GDAKIT_ASSERT(flight.told);
      --kernels_;
    } else {
      if (load(marks_[current_]) < flight.seq) return;
      finish(flight);
    }
    ring_.give_back(flight.ring_mark);
    flights_.pop();
    front_since_ns_ = now_ns_;
  }
}

// The first of its works that is not finished yet: some may have had fewer levels than others.
std::uint64_t GpuOrder::begin_of(const Flight& flight) const {
  return std::max(flight.begin, works_.head());
}

// Results are taken out of the ring before its memory is used again.
void GpuOrder::finish(const Flight& flight) {
  front_since_ns_ = now_ns_;
  for (std::uint64_t number = begin_of(flight); number != flight.end; ++number) {
    GpuWork& work = *works_[number];
    if (!flight.kernel) {
      work.complete = flight.last;
      continue;
    }
    for (WorkAtomic& atomic : work.atomics) {
      const std::uint32_t level = work.lists[work.ops[atomic.op].list].level;
      if (level == flight.level) atomic.result = atomic.place->old;
    }
    work.complete |= flight.up_to >= work.levels.size();
  }
  while (!works_.empty() && works_.front()->complete) {
    GpuWork& work = *works_.front();
    works_.pop();
    work.state.store(GpuWork::State::finished, std::memory_order_release);
    finished_.fetch_add(1, std::memory_order_release);
  }
  // What was taken back may be complete, if it had nothing at the level that was cancelled.
  next_ = std::max(next_, works_.head());
}

// Works that come while others are put onto the GPU are taken along.
void GpuOrder::start_works() {
  while (next_ != works_.tail()) {
    GpuWork& work = *works_[next_];
    std::uint64_t end = next_ + 1;
    if (!work.launched()) {
      const bool kernels = kernels_can(work) && (kernels_ != 0 || !few(work));
      if (kernels) end = end_of_group();
      // Nothing cancels a copy: it must not stand behind a launch that may be stuck.
      const bool started = kernels ? launch_levels(end) : kernels_ == 0 && run_copies(work);
      if (!started) return;
    }
    for (; next_ != end; ++next_) {
      works_[next_]->state.store(GpuWork::State::launched, std::memory_order_release);
    }
    take_incoming();
  }
}

// The GPU fails every call, and nothing it still does can be told from nothing: all work ends.
void GpuOrder::give_up() {
  while (!flights_.empty()) flights_.pop();
  while (!works_.empty()) {
    works_.front()->state.store(GpuWork::State::finished, std::memory_order_release);
    works_.pop();
    finished_.fetch_add(1, std::memory_order_release);
  }
  next_ = works_.tail();
  kernels_ = 0;
  open_ = false;
  word_count_ = 0;
}

GpuOrder::Counts GpuOrder::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gdakit::softnic

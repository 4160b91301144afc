#include "backends/softnic/gpu_order.h"

#include <chrono>
#include <thread>

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxWorks = 1024;
constexpr std::uint32_t kMaxFlights = 32;
constexpr std::chrono::seconds kEndLimit{5};

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

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
  void* const words = device_->pinned(256);
  void* const ring = device_->pinned(options_.ring_bytes);
  if (controls == nullptr || words == nullptr || ring == nullptr) return false;
  controls_ = static_cast<GpuControl*>(controls);
  words_ = static_cast<std::uint64_t*>(words);
  scratch_ = words_ + 16;
  ring_ = GpuRing(ring, options_.ring_bytes);
  streams_[0] = device_->make_stream();
  streams_[1] = device_->make_stream();
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
  const std::lock_guard lock(mutex_);
  work.state.store(GpuWork::State::waiting, std::memory_order_relaxed);
  works_.push() = &work;
  submitted_.fetch_add(1, std::memory_order_release);
  advance_locked();
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
  now_ns_ = clock_ns();
  if (device_->failed()) {
    give_up();
    return;
  }
  retire();
  look_for_drained();
  look_for_stuck();
  start_works();
}

void GpuOrder::retire() {
  while (!flights_.empty()) {
    Flight& flight = flights_.front();
    if (flight.kernel) {
      const GpuControl& control = controls_[flight.slot];
      // In this order: a launch that has left has finished, too.
      const bool left = load(control.left) != 0;
      if (!flight.told && load(control.finished) != 0) finish(flight);
      if (!left) return;
      GDAKIT_ASSERT(flight.told);
      --kernels_;
    } else {
      if (load(words_[current_]) < flight.seq) return;
      finish(flight);
    }
    ring_.give_back(flight.ring_mark);
    flights_.pop();
    front_since_ns_ = now_ns_;
  }
}

// Results are taken out of the ring before its memory is used again.
void GpuOrder::finish(Flight& flight) {
  flight.told = true;
  front_since_ns_ = now_ns_;
  GpuWork& work = *works_[flight.work];
  if (flight.kernel) {
    for (WorkAtomic& atomic : work.atomics) {
      const std::uint32_t level = work.lists[work.ops[atomic.op].list].level;
      if (level == flight.level && atomic.place != nullptr) atomic.result = atomic.place->old;
    }
  }
  if (!flight.last) return;
  GDAKIT_ASSERT(works_.head() == flight.work);
  works_.pop();
  work.state.store(GpuWork::State::finished, std::memory_order_release);
  finished_.fetch_add(1, std::memory_order_release);
}

void GpuOrder::start_works() {
  while (next_ != works_.tail()) {
    GpuWork& work = *works_[next_];
    if (!start(work)) return;
    work.state.store(GpuWork::State::launched, std::memory_order_release);
    ++next_;
  }
}

bool GpuOrder::start(GpuWork& work) {
  if (may_use_kernels(work)) return launch_levels(work);
  // Nothing cancels a copy: it must not stand behind a launch that may be stuck.
  return kernels_ == 0 && run_copies(work);
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
}

GpuOrder::Counts GpuOrder::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace gdakit::softnic

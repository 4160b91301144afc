#include "backends/softnic/gpu/gpu_launcher.h"

namespace gdakit::softnic {

GpuLauncher::~GpuLauncher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void GpuLauncher::submit(const GpuLaunchRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    waiting_.fetch_add(1, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

bool GpuLauncher::launch_next() {
  GpuLaunchRequest request;
  {
    const std::lock_guard lock(mutex_);
    if (requests_.empty()) return false;
    request = requests_.front();
    requests_.pop_front();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  actions_.launch(request);
  return true;
}

// Whether a launch was asked for within kAwake.
bool GpuLauncher::wait_awake() {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (std::chrono::steady_clock::now() < end) {
    if (waiting_.load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

void GpuLauncher::run() {
  bool outstanding = false;
  while (true) {
    while (launch_next()) outstanding = true;
    if (outstanding && wait_awake()) continue;
    outstanding = outstanding && actions_.outstanding();
    std::unique_lock lock(mutex_);
    const auto due = [this] { return !requests_.empty() || ending_; };
    if (outstanding) {
      changed_.wait_for(lock, kBetweenLooks, due);
    } else {
      changed_.wait(lock, due);
    }
    if (requests_.empty() && ending_) return;
  }
}

}  // namespace gdakit::softnic

// GpuLauncher: a thread that launches the soft NIC's helper kernels, in the order given.
//
// A launch may stand still: the driver lets nobody launch in a context while another thread waits
// there in a call such as cudaMemcpy, and what that waits for may be a kernel that waits for this
// very NIC. The thread that asked goes on, finds that the launch does not begin, and does the work
// by copies (gpu_order.h).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "backends/softnic/gpu/gpu_batch.h"
#include "backends/softnic/gpu/gpu_device.h"
#include "core/base/library_thread.h"

namespace gdakit::softnic {

struct GpuLaunchRequest {
  GpuStream stream = 0;
  bool bulk = false;
  bool behind_copies = false;  // after the copies issued to the stream so far
  GpuLaunch launch;
};

class GpuLauncher {
 public:
  struct Actions {
    std::function<void(const GpuLaunchRequest&)> launch;
    // Called now and then while nothing is to be launched: whether some launch has yet to end.
    std::function<bool()> outstanding;
  };

  explicit GpuLauncher(Actions actions)
      : actions_(std::move(actions)), thread_(start_library_thread([this] { run(); })) {}
  // Makes all launches that were asked for.
  ~GpuLauncher();
  GpuLauncher(const GpuLauncher&) = delete;
  GpuLauncher& operator=(const GpuLauncher&) = delete;

  // From any thread; returns at once.
  void submit(const GpuLaunchRequest& request);

 private:
  void run();
  bool launch_next();
  bool wait_awake();

  // Launches often come one behind the other: so long the thread looks for the next without sleep.
  static constexpr std::chrono::microseconds kAwake{100};
  static constexpr std::chrono::milliseconds kBetweenLooks{1};

  const Actions actions_;
  std::atomic<std::size_t> waiting_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<GpuLaunchRequest> requests_;  // these two under the mutex
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the others
};

}  // namespace gdakit::softnic

// The proxy: a host thread that rings for a device that cannot reach the doorbell registers. Per
// queue the device publishes a producer index; the proxy writes record and doorbell.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "device/views.h"

namespace gdakit {

class Proxy {
 public:
  Proxy();
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Watches one more queue, whose memory stays until the Proxy ends.
  void watch(const QueueView& queue);

 private:
  struct Watched {
    QueueView queue;
    std::uint64_t announced = 0;
  };

  void run();
  bool turn();

  std::mutex mutex_;
  std::vector<Watched> watched_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gdakit

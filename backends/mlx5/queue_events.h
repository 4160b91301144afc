// What a NIC tells by itself of queue pairs that fail at a peer's request: events (DEVX), for which
// nobody has to ask its firmware.
//
// Of errors of what a queue pair itself has posted there is no event: its CQE has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/mlx5/open_nic.h"

namespace gdakit::mlx5 {

class QueueEvents {
 public:
  // Errors: the kernel has no such events.
  static Result<std::unique_ptr<QueueEvents>> open(const OpenNic& nic);
  ~QueueEvents();
  QueueEvents(const QueueEvents&) = delete;
  QueueEvents& operator=(const QueueEvents&) = delete;

  // Tells of the queue pair from now on by this name, whose upper 16 bits are 0.
  Result<void> subscribe(const DevxObject& queue_pair, std::uint64_t name);

  struct Told {
    std::uint64_t name = 0;
    const char* what = "";  // has broken it, in words
  };
  // The next one that there is; nothing waits. Errors: there will be no more, or none that can be
  // understood.
  Result<std::optional<Told>> next();

 private:
  QueueEvents(const OpenNic& nic, mlx5dv_devx_event_channel* channel)
      : nic_(nic), channel_(channel) {}

  const OpenNic& nic_;
  mlx5dv_devx_event_channel* const channel_;
};

}  // namespace gdakit::mlx5

// A put that the threads of a PE's device post: a job of one PE that puts to itself by one NIC,
// with heap, queues and doorbell as in any job.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit::tools::check {

struct PePut {
  std::string nic;
  unsigned port = 1;
  std::optional<int> gpu;  // none: emulated threads, in memory of the host
  NicHandler handler = NicHandler::automatic;
  std::chrono::milliseconds limit{10'000};
};

// 8 bytes and 1 MiB, compared. Errors: those of init; the operation's, by its Status; bytes that
// are wrong (internal).
Result<void> put_by_pe(const Options& options, const PePut& put);

}  // namespace gdakit::tools::check

// Whether another process is stopped, for PEs that stop each other.
#pragma once

#include <sys/types.h>

#include "core/base/process_status.h"

namespace gdakit::testing_job {

inline bool is_stopped(pid_t process) {
  const auto status = process_status(process);
  return status && status->stopped();
}

}  // namespace gdakit::testing_job

#include "core/host/gpu/mps.h"

#include <cstring>
#include <fstream>
#include <stdlib.h>

#include "core/base/process_status.h"

namespace gdakit {
namespace {

constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";
// What gdakit itself has set it to, for programs that this one starts.
constexpr const char* kOurConnections = "CUDA_DEVICE_MAX_CONNECTIONS_GDAKIT";

}  // namespace

std::optional<pid_t> mps_daemon(const std::filesystem::path& directory) {
  std::ifstream file(directory / "nvidia-cuda-mps-control.pid");
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 1) return std::nullopt;
  return pid;
}

bool mps_serves() {
  const char* const given = ::getenv(kMpsPipeVariable);
  const std::optional<pid_t> daemon = mps_daemon(given != nullptr ? given : "/tmp/nvidia-mps");
  return daemon && process_runs(*daemon);
}

bool connections_given() {
  const char* const value = ::getenv(kConnections);
  const char* const ours = ::getenv(kOurConnections);
  return value != nullptr && (ours == nullptr || std::strcmp(value, ours) != 0);
}

void set_connections() {
  if (connections_given()) return;
  const bool by_mps = mps_serves();
  for (const char* const name : {kConnections, kOurConnections}) {
    if (by_mps) {
      ::unsetenv(name);
    } else {
      ::setenv(name, "32", /*overwrite=*/1);
    }
  }
}

}  // namespace gdakit

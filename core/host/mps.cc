#include "core/host/mps.h"

#include <cstdlib>
#include <fstream>

#include "core/host/process.h"

namespace gdakit {

std::optional<pid_t> mps_daemon(const std::filesystem::path& directory) {
  std::ifstream file(directory / "nvidia-cuda-mps-control.pid");
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 1) return std::nullopt;
  return pid;
}

bool mps_serves() {
  const char* const given = std::getenv(kMpsPipeVariable);
  const std::optional<pid_t> daemon = mps_daemon(given != nullptr ? given : "/tmp/nvidia-mps");
  return daemon && process_runs(*daemon);
}

// First called before this process sets the variable itself (cuda_gpu.cc).
bool connections_given() {
  static const bool given = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS") != nullptr;
  return given;
}

}  // namespace gdakit

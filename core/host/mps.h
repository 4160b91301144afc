// NVIDIA's Multi-Process Service (MPS), as this process would find it.
#pragma once

#include <filesystem>
#include <optional>
#include <sys/types.h>

namespace gdakit {

inline constexpr const char* kMpsPipeVariable = "CUDA_MPS_PIPE_DIRECTORY";

// The process that the daemon of `directory` says it is; nothing while it says none.
std::optional<pid_t> mps_daemon(const std::filesystem::path& directory);

// Whether a daemon runs that programs of this environment connect to by themselves.
bool mps_serves();

// Whether the environment in which this process started has CUDA_DEVICE_MAX_CONNECTIONS.
bool connections_given();

}  // namespace gdakit

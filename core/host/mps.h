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

// Whether the user has set CUDA_DEVICE_MAX_CONNECTIONS. What gdakit has set in this process, or in
// one that started it, is not the user's.
bool connections_given();

// Sets it for PEs that are threads of this process, unless the user has, or a daemon serves it.
// CUDA looks at it once, when it starts.
void set_connections();

}  // namespace gdakit

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

// Whether CUDA_DEVICE_MAX_CONNECTIONS was set by the user, or by gdakit run for this PE. What
// set_connections has set, here or in a process that started this one, does not count.
bool connections_given();

// Sets it to 32, for PEs that are threads of this process, unless it was given. Where a daemon
// serves this process it has CUDA's own value. CUDA looks at it once, when it starts.
void set_connections();

}  // namespace gdakit

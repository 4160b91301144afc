// The backend of real ConnectX NICs; on soft ones it runs under `gdakit verbs`.
#pragma once

#include <memory>
#include <vector>

#include "core/host/backend.h"

namespace gdakit::mlx5 {

struct Libraries;
class OpenNic;

// Collective. One for each NIC of a PE, of which all PEs have as many. `memory` is that of the PE's
// device.
Result<std::vector<std::unique_ptr<Backend>>> make_backends(
    std::vector<std::unique_ptr<OpenNic>> nics, const Options& options, Bootstrap& bootstrap,
    MemoryProvider& memory);

// By the libraries of this process (libraries.h), which are loaded when a backend is opened.
std::unique_ptr<BackendProvider> make_provider();
// By those that the caller gives, and keeps.
std::unique_ptr<BackendProvider> make_provider(const Libraries& libraries);

}  // namespace gdakit::mlx5

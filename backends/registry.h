// The one place that knows every backend by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/host/backend.h"

namespace gdakit {

namespace mlx5 {
struct DeviceReport;
}  // namespace mlx5

// Whether the PEs of a job share a process.
enum class JobKind { in_process, processes };

// What a backend can do on this machine.
struct BackendReport {
  std::string name;
  bool usable;
  std::string sentence;  // what it does here, or why it cannot and what to do about it
};

// Given what mlx5::report_devices has said of this host's RDMA NICs.
std::vector<BackendReport> report_backends(const Result<std::vector<mlx5::DeviceReport>>& nics);

// The backend that options.backend names; automatic is the soft NIC where there is no other.
// Errors: not built in, or not usable here (unavailable), with the reason.
Result<std::unique_ptr<BackendProvider>> make_backend_provider(const Options& options,
                                                               JobKind kind);

}  // namespace gdakit

#include "backends/registry.h"

#include "backends/softnic/softnic_backend.h"

namespace gdakit {

std::vector<BackendReport> report_backends() {
  return {
      {"softnic", true,
       "A software ConnectX on a host thread: loopback within a process, shared memory between "
       "processes of this host."},
      {"mlx5", false,
       "This version finds ConnectX NICs and does not drive them yet; use GDAKIT_BACKEND=softnic."},
  };
}

Result<std::unique_ptr<BackendProvider>> make_backend_provider(const Options& options,
                                                               JobKind kind) {
  if (options.backend == BackendChoice::mlx5) {
    return Error(Code::unavailable, "GDAKIT_BACKEND=mlx5: " + report_backends()[1].sentence);
  }
  return kind == JobKind::in_process ? softnic::make_loopback_provider()
                                     : softnic::make_processes_provider();
}

}  // namespace gdakit

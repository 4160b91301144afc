#include "backends/registry.h"

#include <algorithm>

#include "backends/mlx5/devices.h"
#include "backends/mlx5/mlx5_backend.h"
#include "backends/softnic/softnic_backend.h"

namespace gdakit {

namespace {

BackendReport report_mlx5(const Result<std::vector<mlx5::DeviceReport>>& nics) {
  if (!nics) return {"mlx5", false, nics.error().message()};
  if (std::ranges::none_of(*nics, &mlx5::DeviceReport::usable)) {
    return {"mlx5", false,
            "No RDMA NIC of this host can be used; `gdakit info` gives each one's reason."};
  }
  return {"mlx5", true,
          "A ConnectX by the distribution's libibverbs and libmlx5; mlx5-emulated runs it on soft "
          "ones."};
}

}  // namespace

std::vector<BackendReport> report_backends(const Result<std::vector<mlx5::DeviceReport>>& nics) {
  return {
      {"softnic", true,
       "A software ConnectX on a host thread: loopback within a process, shared memory between "
       "processes of this host."},
      report_mlx5(nics),
  };
}

Result<std::unique_ptr<BackendProvider>> make_backend_provider(const Options& options,
                                                               JobKind kind) {
  if (options.backend == BackendChoice::mlx5 || options.backend == BackendChoice::mlx5_emulated) {
    return mlx5::make_provider();
  }
  return kind == JobKind::in_process ? softnic::make_loopback_provider()
                                     : softnic::make_processes_provider();
}

}  // namespace gdakit

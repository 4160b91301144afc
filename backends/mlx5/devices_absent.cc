// What a library says of RDMA NICs that was built without the headers of rdma-core.
#include "backends/mlx5/devices.h"

namespace gdakit::mlx5 {

bool built_in() { return false; }

Result<std::vector<DeviceReport>> report_devices(const HcaList&) {
  return Error(Code::unavailable,
               "this gdakit was built without the headers of rdma-core; install them (Debian and "
               "Ubuntu: libibverbs-dev; Red Hat: rdma-core-devel) and build it again");
}

}  // namespace gdakit::mlx5

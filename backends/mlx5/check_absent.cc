// What `gdakit check` hears of RDMA NICs from a library that was built without the headers of
// rdma-core.
#include "backends/mlx5/check.h"
#include "backends/mlx5/devices.h"

namespace gdakit::mlx5 {
namespace {

Error absent() { return report_devices(HcaList()).error(); }

}  // namespace

Result<LibrariesLook> look_at_libraries() { return absent(); }

Result<std::vector<NicLook>> look_at_nics(const std::string&) { return absent(); }

Result<std::unique_ptr<PutEnd>> open_put_end(const std::string&, unsigned, const Options&) {
  return absent();
}

}  // namespace gdakit::mlx5

// What a library says of RDMA NICs that was built without the headers of rdma-core.
#include "backends/mlx5/devices.h"
#include "backends/mlx5/mlx5_backend.h"

namespace gdakit::mlx5 {
namespace {

Error absent() {
  return Error(Code::unavailable,
               "this gdakit was built without the headers of rdma-core 44 or later; install them "
               "(Debian and Ubuntu: libibverbs-dev; Red Hat: rdma-core-devel) and build it again");
}

class Provider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options&, Bootstrap&, MemoryProvider&) override {
    return absent();
  }
};

}  // namespace

bool built_in() { return false; }

Result<std::vector<DeviceReport>> report_devices(const HcaList&, const GidChoice&) {
  return absent();
}

Result<std::vector<PlacedNic>> place_nics(std::size_t, const HcaList&, const HcaMap&,
                                          const GidChoice&, std::vector<std::string>) {
  return absent();
}

std::unique_ptr<BackendProvider> make_provider() { return std::make_unique<Provider>(); }

}  // namespace gdakit::mlx5

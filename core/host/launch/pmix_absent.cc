// A build without pmix.h.
#include "core/host/launch/pmix_client.h"

namespace gdakit {
namespace {

Error built_without() {
  return Error(Code::unavailable,
               "this gdakit was built without PMIx; build it where CMake finds pmix.h (Debian: "
               "libpmix-dev)");
}

}  // namespace

Result<PmixJob> find_pmix_job(std::chrono::milliseconds) { return built_without(); }

Result<void> abort_over_pmix(int, const std::string&, std::chrono::milliseconds) {
  return built_without();
}

Result<std::string> broadcast_over_pmix(const std::string&, std::chrono::milliseconds) {
  return built_without();
}

}  // namespace gdakit

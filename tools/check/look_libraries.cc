// Step libraries: the distribution's libibverbs and libmlx5.
#include "backends/mlx5/devices.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {

StepReport look_at_libraries(const Surroundings& surroundings) {
  StepReport report;
  if (!surroundings.libraries) {
    Finding finding{.tried = "dlopen and dlvsym of libibverbs.so.1 and libmlx5.so.1",
                    .answer = surroundings.libraries.error().message(),
                    .cause =
                        "a library is absent, older than rdma-core 35, or in this process "
                        "twice, as the answer says",
                    .proof = "ldconfig -p | grep -e libibverbs -e libmlx5",
                    .remedy = "one rdma-core 35 or later, in the container, too",
                    .otherwise = "the soft NIC: GDAKIT_BACKEND=softnic"};
    if (!mlx5::built_in()) {
      finding.tried = "whether this gdakit was built for RDMA NICs";
      finding.cause = "the headers of rdma-core were missing where it was built";
      finding.proof = "gdakit info | grep rdma_core";
      finding.remedy = "install libibverbs-dev or rdma-core-devel, and build again";
    }
    report.add(std::move(finding));
    report.say("they cannot be used");
    return report;
  }
  const mlx5::LibrariesLook& look = *surroundings.libraries;
  report.say(look.verbs_file + ", " + look.mlx5_file);
  report.say(look.has_data_direct ? "with data direct" : "without data direct");
  const std::string& file = look.verbs_file;
  report.facts["libibverbs"] = file.substr(file.rfind('/') + 1);
  return report;
}

}  // namespace gdakit::tools::check

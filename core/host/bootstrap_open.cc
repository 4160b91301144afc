#include "core/host/bootstrap_open.h"

#include <utility>

#include "core/host/launch_info.h"
#include "core/host/local_bootstrap.h"
#include "core/host/tcp_bootstrap.h"

namespace gdakit {

Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  const Result<LaunchInfo> info = find_launch_info(options);
  if (!info) return info.error();
  if (info->size > 1) return open_tcp_bootstrap(*info, Log(options.log, info->rank));
  Result<std::vector<std::unique_ptr<Bootstrap>>> alone = make_local_bootstraps(1, info->timeout);
  if (!alone) return alone.error();
  return std::move(alone->front());
}

}  // namespace gdakit

#include "core/host/bootstrap/bootstrap_open.h"

#include <utility>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/launch/launch.h"

namespace gdakit {
namespace {

Result<std::unique_ptr<Bootstrap>> open(const Options& options, const Launch& launch) {
  LaunchInfo info = launch.info;
  info.peer_timeout = options.peer_timeout;
  info.peer_loss = options.peer_loss;
  const Log log(options.log, launch.info.rank);
  for (const std::string& warning : launch.warnings) log.warn(warning);
  if (info.size > 1) return open_tcp_bootstrap(info, log);
  Result<std::vector<std::unique_ptr<Bootstrap>>> alone = make_local_bootstraps(1, info.timeout);
  if (!alone) return alone.error();
  return std::move(alone->front());
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  const Result<Launch> launch = start_launch(options);
  if (!launch) return launch.error();
  return open(options, *launch);
}

Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options, const UniqueId& id,
                                                  int rank, int n_pes) {
  const Result<Launch> launch = start_launch(options, id, rank, n_pes);
  if (!launch) return launch.error();
  Result<std::unique_ptr<Bootstrap>> bootstrap = open(options, *launch);
  if (bootstrap || rank == 0) return bootstrap;
  return bootstrap.error().within(
      "init with a unique id (if it is old, its PE 0 has gone: make a new one)");
}

}  // namespace gdakit

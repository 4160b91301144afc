// The kernel that making teams needs.
#include "core/host/team_kernels.h"
#include "host_calls/enqueue.h"

namespace gdakit {

Result<void> enqueue_exchange(Context& context, Team team, void* dest, const void* source,
                              std::size_t bytes) {
  HostOperation operation;
  operation.kind = HostOperation::Kind::fcollect;
  operation.team = team;
  operation.dest = dest;
  operation.source = source;
  operation.count = bytes;
  operation.tells = true;
  return enqueue(context, context.stream(), operation);
}

}  // namespace gdakit

// What teams need of kernels. host_calls has the kernels, and defines it.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "device/team.h"

namespace gdakit {

class Context;

// Collective over the team, whose members' `bytes` bytes at `source` come to `dest` on each of
// them, by their numbers; both are symmetric. Returns when the kernel is in the PE's stream; behind
// it Context::host_result has the operation's Status.
Result<void> enqueue_exchange(Context& context, Team team, void* dest, const void* source,
                              std::size_t bytes);

}  // namespace gdakit

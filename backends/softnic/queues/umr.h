// WQEs that change a memory key (core/format/umr.h): binds of memory windows, lists of keys that
// consist of others, and what ends them.
#pragma once

#include <cstdint>

#include "backends/softnic/memory/key_change.h"
#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/request.h"

namespace gdakit::softnic {

// Reads the first `size` bytes of the WQE. Page sizes, protection domains and signatures do not
// change, and lists of at most 2^kLogMostListEntries are all that there is: a WQE that asks for
// more is a fault.
Fault decode_key_change(const std::uint8_t* wqe, std::uint32_t size, KeyChange& change);

// Carries it out for a WQE of this queue pair. WQEs behind it, and packets that come from now on,
// find the key as it is then; when `before` is done, nothing is under way any more that found it as
// it was.
Fault change_key(QueueCore& core, const QpCommon& qp, const Request& request, DmaOp& before);

}  // namespace gdakit::softnic

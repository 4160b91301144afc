// Reports of the device in words: stalls, bad arguments, broken queues.
#pragma once

#include <string>

#include "core/format/cqe.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

// A syndrome's name and what usually causes it: "remote access error: ...".
std::string describe(format::Syndrome syndrome);

// The name of a WQE's opcode as the PRM writes it, or its number.
std::string opcode_name(std::uint8_t opcode);

// "the queue to PE 3 is broken: remote access error (...) at WQE 12, RDMA_WRITE".
std::string describe(const QueueError& error, int peer);

// A Status in words; for kernels' results that reach the host.
std::string describe(const Status& status);

// What a thread that waits at `site` waits for.
const char* waited_for(Site site);

// Several lines: who waited where and for what, how far the queue has come, and which side is to
// blame.
std::string describe(const StallReport& report, int my_pe);

std::string describe(const FaultReport& report, int my_pe);

}  // namespace gdakit

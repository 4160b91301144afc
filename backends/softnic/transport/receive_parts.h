// What receivers of all service types do with receive WQEs that they have claimed.
#pragma once

#include <cstdint>

#include "backends/softnic/queues/receive_source.h"
#include "backends/softnic/transport/payload.h"

namespace gdakit::softnic {

// What a RETH may ask for, in bytes.
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 31;

// Puts the next `size` bytes of a payload where the receive WQE says; `last` becomes the last of
// the operations, if there is one. A fault is the WQE's: what was moved before it stays.
Fault fill(Core& core, const QpCommon& qp, ReceiveWqe& wqe, PayloadReader& payload,
           std::uint64_t size, DmaOp& last);

// Completes a receive WQE with an error, or flushed. False: try again.
bool post_failed_receive(Core& core, QpCommon& qp, std::uint16_t wqe_counter, Fault fault);

}  // namespace gdakit::softnic

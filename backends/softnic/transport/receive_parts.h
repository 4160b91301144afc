// What receivers of all service types do with receive WQEs that they have claimed.
#pragma once

#include <cstdint>

#include "backends/softnic/queues/make_cqe.h"
#include "backends/softnic/queues/receive_source.h"
#include "backends/softnic/transport/payload.h"

namespace gdakit::softnic {

// What a RETH may ask for, in bytes.
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 31;

// Puts the next `size` bytes of a payload where the receive WQE says; `last` becomes the last of
// the operations, if there is one. A fault is the WQE's: what was moved before it stays.
Fault fill(Core& core, const QpCommon& qp, ReceiveWqe& wqe, PayloadReader& payload,
           std::uint64_t size, DmaOp& last);

// Completes a receive WQE with an error, or flushed; `post(cqe)` brings the CQE to its CQ. False:
// try again.
template <class Post>
bool post_failed_receive(QpCommon& qp, std::uint16_t wqe_counter, Fault fault, const Post& post) {
  const Fault told = fault ? fault : kFlushed;
  format::Cqe64 cqe = make_error_cqe(qp, format::CqeOpcode::responder_error, wqe_counter, 0, told);
  if (!post(cqe)) return false;
  ++qp.counters.resp_cqe_error;
  if (!fault) ++qp.counters.resp_cqe_flush_error;
  return true;
}
// ... to the queue pair's.
inline bool post_failed_receive(Core& core, QpCommon& qp, std::uint16_t wqe_counter, Fault fault) {
  return post_failed_receive(qp, wqe_counter, fault, [&](format::Cqe64& cqe) {
    return core.post_cqe(qp, *qp.receive_cq, cqe);
  });
}

}  // namespace gdakit::softnic

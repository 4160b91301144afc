// The responder: executes what a peer asks for, once and in order, and acknowledges it.
//
//   packet --> checks --> effect on memory --> queue of effects --> ACK, READ response, atomic
//   response, CQE
//             responder.cc                      responder_effects.cc
//
//   responder_receive.cc   receive WQEs
//   responder_xrc.cc       the shared receive queues that packets of XRC name
//
// An effect leaves the queue when its DMA is done, so that an acknowledge never overtakes what it
// acknowledges.
#pragma once

#include <cstdint>

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/rc_receive.h"

namespace gdakit::softnic {

class Responder {
 public:
  explicit Responder(Core& core) : core_(core) {}

  // A request. False: it cannot be taken now; offer it again. `op` becomes what must be done before
  // the packet's payload may go.
  bool request(RcReceive& receive, const Packet& packet, DmaOp& op);

  // One bounded piece of work: completed effects, responses, acknowledges; in state err, flushing.
  Turn work(RcReceive& receive);

  // The queue pair is gone, and nothing that it was asked for is under way: the receive WQEs that
  // it had claimed complete, flushed. False: some are left; try again.
  bool return_receives(RcReceive& receive);

  // The shared receive queue of XRC goes: its receive WQEs make no CQEs any more, its keys are of
  // no use, and the message that has begun does not go on.
  static void forget(RcReceive& receive, const Srq& srq);

 private:
  // refused: a NAK is on its way; dropped: as if the packet had not come
  enum class Step { done, again, refused, dropped };

  // responder.cc
  bool duplicate(RcReceive& receive, const PacketHeader& header);
  static void tell_gap(RcReceive& receive);
  Turn execute_early(RcReceive& receive);
  Step execute(RcReceive& receive, const Packet& packet, DmaOp& op);
  Step begin_write(RcReceive& receive, const PacketHeader& header);
  Step write(RcReceive& receive, const Packet& packet, DmaOp& op);
  Step send(RcReceive& receive, const Packet& packet, DmaOp& op);
  bool invalidate(const RcReceive& receive, MemoryKey key);
  Step read(RcReceive& receive, const PacketHeader& header);
  Step atomic(RcReceive& receive, const Packet& packet);
  void placed(RcReceive& receive, const Packet& packet, DmaOp op, format::CqeOpcode completion);
  Step refuse(RcReceive& receive, Acknowledge nak, Fault fault = {});
  bool may_execute(const RcReceive& receive) const {
    return core_.ordered || receive.effects.empty();
  }

  // responder_receive.cc
  Step acquire_receive(RcReceive& receive);
  Step refuse_moved(RcReceive& receive, DmaOp op, Acknowledge nak, Fault fault);
  Step scatter(RcReceive& receive, const Packet& packet, DmaOp& op);
  bool post_failed(RcReceive& receive, SrqNumber srq, std::uint16_t wqe_counter, Fault fault);
  Turn flush(RcReceive& receive);

  // responder_xrc.cc
  Srq* named_srq(const RcReceive& receive, const PacketHeader& header) const;
  bool turn_to_srq(RcReceive& receive, const PacketHeader& header);
  PdNumber pd_of(const RcReceive& receive, const Effect& read) const;
  bool post_to_srq(RcReceive& receive, SrqNumber number, format::Cqe64& cqe);

  // responder_effects.cc
  bool read_pending(RcReceive& receive, std::uint32_t psn) const;
  Turn run_effects(RcReceive& receive);
  // Messages complete, with one more or not. A READ counts from its first response on.
  static std::uint32_t msn_after(const RcReceive& receive, bool one_more) {
    return (receive.msn + (one_more ? 1 : 0)) & kMsnMask;
  }
  static void finish_placed(RcReceive& receive, std::uint32_t last_psn, bool asks, bool ends);
  static void finish(RcReceive& receive, const Effect& effect);
  static bool is_flushed(RcReceive& receive);
  Turn flush_effects(RcReceive& receive);
  void refuse_read(RcReceive& receive, Effect& read);
  bool post_completion(RcReceive& receive, const Effect& effect);
  bool respond_read(RcReceive& receive, Effect& effect);
  bool respond_atomic(RcReceive& receive, const Effect& effect);
  bool answer(RcReceive& receive, bool nak);
  bool acknowledge(RcReceive& receive, bool nak);
  void fail(RcReceive& receive);

  Core& core_;
};

}  // namespace gdakit::softnic

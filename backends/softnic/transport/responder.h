// The responder: executes what a peer asks for, once and in order, and acknowledges it.
//
//   packet --> checks --> effect on memory --> queue of effects --> ACK, READ response, atomic
//   response, CQE
//             responder.cc                      responder_effects.cc
//
// An effect leaves the queue when its DMA is done, so that an acknowledge never overtakes what it
// acknowledges.
#pragma once

#include <cstdint>

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/qp.h"

namespace gdakit::softnic {

class Responder {
 public:
  explicit Responder(Core& core) : core_(core) {}

  // A request. False: it cannot be taken now; offer it again. `op` becomes what must be done before
  // the packet's payload may go.
  bool request(Qp& qp, const Packet& packet, DmaOp& op);

  // One bounded piece of work: completed effects, responses, acknowledges; in state err, flushing.
  Turn work(Qp& qp);

  // The receive doorbell record may have changed.
  static void look_at_record(Qp& qp) { qp.receive.record.wanted = true; }

 private:
  enum class Step { done, again, refused };  // refused: a NAK is on its way

  // responder.cc
  bool duplicate(Qp& qp, const PacketHeader& header);
  Step execute(Qp& qp, const Packet& packet, DmaOp& op);
  Step begin_write(Qp& qp, const PacketHeader& header);
  Step write(Qp& qp, const Packet& packet, DmaOp& op);
  Step send(Qp& qp, const Packet& packet, DmaOp& op);
  Step read(Qp& qp, const PacketHeader& header);
  Step atomic(Qp& qp, const Packet& packet);
  void placed(Qp& qp, const Packet& packet, DmaOp op, format::CqeOpcode completion);
  Step refuse(Qp& qp, Acknowledge nak, Fault fault = {});
  bool may_execute(const Qp& qp) const { return core_.ordered || qp.receive.effects.empty(); }

  // responder_receive.cc
  Step acquire_receive(Qp& qp);
  bool update_producer(Qp& qp);
  Step fetch_receive(Qp& qp);
  Step scatter(Qp& qp, const Packet& packet, DmaOp& op);
  Turn flush(Qp& qp);

  // responder_effects.cc
  bool read_pending(Qp& qp, std::uint32_t psn) const;
  Turn run_effects(Qp& qp);
  void refuse_read(Qp& qp, std::uint32_t psn, Acknowledge nak, Fault fault);
  bool post_completion(Qp& qp, const Effect& effect);
  bool respond_read(Qp& qp, Effect& effect);
  bool respond_atomic(Qp& qp, const Effect& effect);
  bool acknowledge(Qp& qp, bool nak);
  void fail(Qp& qp);

  Core& core_;
};

}  // namespace gdakit::softnic

// Takes what nobody acknowledges: messages of UC, datagrams of UD.
//
//   packet --> checks --> receive WQE or memory --> arrivals --> CQE, once the bytes are there
//
// What does not fit is dropped and counted, and nobody is told. A message of UC arrives whole or
// makes no CQE: a gap in the PSNs, or an opcode out of turn, gives up the rest of it, up to the
// next packet that begins one. Its receive WQE is then the next message's. Only a receive WQE that
// is wrong itself or too short, and a shared receive queue that is broken, fail the queue pair.
#pragma once

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/unreliable_receive.h"

namespace gdakit::softnic {

class UnreliableResponder {
 public:
  explicit UnreliableResponder(Core& core) : core_(core) {}

  // A packet. False: it cannot be taken now; offer it again. `op` becomes what must be done before
  // the packet's payload may go.
  bool request(UnreliableReceive& receive, const Packet& packet, DmaOp& op);

  // One bounded piece of work: CQEs of what has arrived; in state err, flushing.
  Turn work(UnreliableReceive& receive);

  // As Responder::return_receives.
  bool return_receives(UnreliableReceive& receive);

 private:
  enum class Step { done, again, dropped };

  Step datagram(UnreliableReceive& receive, const Packet& packet, DmaOp& op);
  Step message(UnreliableReceive& receive, const Packet& packet, DmaOp& op);
  Step send(UnreliableReceive& receive, const Packet& packet, DmaOp& op);
  Step write(UnreliableReceive& receive, const Packet& packet, DmaOp& op);
  Step begin_write(UnreliableReceive& receive, const PacketHeader& header);
  Step claim(UnreliableReceive& receive);
  static Step drop(UnreliableReceive& receive, Fault fault);
  void complete_with(const UnreliableReceive& receive, Arrival& arrival, format::CqeOpcode opcode,
                     const PacketHeader& header) const;
  Step finish(UnreliableReceive& receive, const PacketHeader& header, Fault fault);
  void fail(UnreliableReceive& receive);
  Turn flush(UnreliableReceive& receive);

  Core& core_;
};

}  // namespace gdakit::softnic

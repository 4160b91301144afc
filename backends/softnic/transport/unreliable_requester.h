// Sends what nobody acknowledges: messages of UC, datagrams of UD.
//
//   send queue --> a WQE --> packets, by value --> the wire has the last one --> CQE
//
// Payload is copied before it travels: a WQE completes as soon as the wire has it all, and then its
// memory is the client's again, whatever becomes of the packets. One WQE is under way at a time. A
// WQE that fails takes the queue pair to state sqer: the send queue flushes, the receive queue goes
// on. An endpoint for which the wire has long had no room, as before a peer that is dead, is
// overdue: packets to it are lost at once, in place of holding up those to others, until the wire
// takes one.
#pragma once

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/unreliable_send.h"

namespace gdakit::softnic {

class UnreliableRequester {
 public:
  explicit UnreliableRequester(Core& core) : core_(core) {}

  // One bounded piece of work: new producer counter, packets, completions; in states sqer and err,
  // flushing.
  Turn work(UnreliableSend& send);

 private:
  enum class Step { done, blocked, pending };

  Turn transmit(UnreliableSend& send);
  Step load(UnreliableSend& send);
  Fault check(UnreliableSend& send);
  void find_receivers(UnreliableSend& send);
  Fault find_sges(UnreliableSend& send);
  Step emit(UnreliableSend& send);
  Packet next_packet(UnreliableSend& send);
  void address(const UnreliableSend& send, PacketHeader& header) const;
  Step complete(UnreliableSend& send);
  bool post_completion(UnreliableSend& send);
  void fail(UnreliableSend& send);
  Turn drain(UnreliableSend& send);
  void note_taken(UnreliableSend& send, Endpoint to);
  bool gives_up(UnreliableSend& send, Endpoint to);
  Turn flush(UnreliableSend& send);

  Core& core_;
};

}  // namespace gdakit::softnic

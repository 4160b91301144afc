// What a target of XRC takes from the shared receive queue that a packet names.
#include "backends/softnic/queues/target_source.h"
#include "backends/softnic/transport/responder.h"

namespace gdakit::softnic {

// Null: there is none, or it is of another domain. An initiator is of none.
Srq* Responder::named_srq(const RcReceive& receive, const PacketHeader& header) const {
  Srq* const srq = core_.srq(header.xrc_srq);
  const XrcdNumber domain = receive.qp.attributes.xrc_domain;
  const bool is_ours = srq != nullptr && srq->xrc() && srq->xrc()->domain == domain;
  return is_ours ? srq : nullptr;
}

// False: the packet is to be dropped. A message goes on with the shared receive queue that it has
// begun with.
bool Responder::turn_to_srq(RcReceive& receive, const PacketHeader& header) {
  const bool goes_on = receive.message != Message::none;
  Srq* const srq = named_srq(receive, header);
  if (srq == nullptr || (goes_on && header.xrc_srq != receive.srq)) {
    ++core_.counters.xrc_violations;
    return false;
  }
  receive.srq = header.xrc_srq;
  receive.pd = srq->pd();
  static_cast<TargetSource*>(receive.source)->turn_to(*srq);
  return true;
}

// Whose keys a READ names. 0, which no protection domain is: they have gone.
PdNumber Responder::pd_of(const RcReceive& receive, const Effect& read) const {
  if (read.srq == kOwnReceives) return receive.qp.attributes.pd;
  const Srq* const srq = core_.srq(read.srq);
  return srq != nullptr ? srq->pd() : 0;
}

// False: try again. Where the shared receive queue has gone, nobody waits for the CQE.
bool Responder::post_to_srq(RcReceive& receive, SrqNumber number, format::Cqe64& cqe) {
  const Srq* const srq = core_.srq(number);
  if (srq == nullptr) return true;
  cqe.srqn_uidx = Be32{srq->xrc()->user_index & 0xffffff};
  return core_.post_cqe(receive.qp, *srq->cq(), cqe);
}

void Responder::forget(RcReceive& receive, const Srq& srq) {
  GrowingFifo<Effect>& effects = receive.effects;
  for (std::uint64_t number = effects.head(); number != effects.tail(); ++number) {
    if (effects[number].srq == srq.number()) effects[number].srq = kGoneSrq;
  }
  if (receive.srq == srq.number()) receive.srq = kGoneSrq;
  static_cast<TargetSource*>(receive.source)->forget(srq);
}

}  // namespace gdakit::softnic

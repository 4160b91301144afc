// A queue pair: a send queue and a receive queue, two halves of its service type on top of them,
// and its places in the engine's lists.
//
//   RC, XRC, DC   RcSend, RcReceive
//   UC, UD        UnreliableSend, UnreliableReceive
#pragma once

#include <cstdint>
#include <memory>

#include "backends/softnic/engine/timers.h"
#include "backends/softnic/queues/linked_list.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/receive_queue.h"
#include "backends/softnic/queues/send_queue.h"
#include "backends/softnic/queues/srq.h"
#include "backends/softnic/queues/target_source.h"
#include "backends/softnic/transport/connection.h"
#include "backends/softnic/transport/rc_receive.h"
#include "backends/softnic/transport/rc_send.h"
#include "backends/softnic/transport/unreliable_receive.h"
#include "backends/softnic/transport/unreliable_send.h"

namespace gdakit::softnic {

struct UnreliableHalves {
  UnreliableHalves(Connection& way, SendQueue& queue, ReceiveSource* source)
      : send(way, queue), receive(way, source) {}

  UnreliableSend send;
  UnreliableReceive receive;
};

struct Qp {
  // `srq`: the one that it takes receive WQEs from, if it does, and if packets do not name it.
  Qp(QpNumber qpn, const QpAttributes& attributes, std::uint32_t window, Srq* srq)
      : common(qpn, attributes),
        send_queue(common),
        receive_queue(common),
        shared_source(make_shared_source(common, srq)),
        connection(common),
        send(connection, send_queue, window),
        receive(connection, source_of_receives()),
        unreliable(is_reliable(attributes.service) ? nullptr
                                                   : std::make_unique<UnreliableHalves>(
                                                         connection, send_queue, receive.source)) {}
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  // Whether it may have claimed receive WQEs that are not its alone, and whose CQEs are yet to
  // come.
  bool holds_shared_receives() const {
    if (shared_source == nullptr) return false;
    return unreliable != nullptr ? unreliable->receive.holds_receives() : receive.holds_receives();
  }

  QpCommon common;
  SendQueue send_queue;
  ReceiveQueue receive_queue;
  const std::unique_ptr<ReceiveSource> shared_source;  // apart: most queue pairs have none
  Connection connection;
  RcSend send;
  RcReceive receive;
  const std::unique_ptr<UnreliableHalves> unreliable;  // not null: it has these, not the two before

  bool sq_draining = false;  // in state sqd: to be told when no WQE is under way any more
  bool established = false;  // in state rtr a packet has come
  bool defers = false;       // a packet that it could not take is kept, and others behind it
  Link<Qp> active;           // in the engine's lists
  Link<Qp> swept;
  Timer timer;

 private:
  static std::unique_ptr<ReceiveSource> make_shared_source(QpCommon& qp, Srq* srq) {
    if (qp.attributes.is_xrc_target()) return std::make_unique<TargetSource>();
    if (srq == nullptr) return nullptr;
    if (qp.attributes.service == ServiceType::dc) return std::make_unique<TargetSource>(*srq);
    return std::make_unique<SrqShare>(qp, srq);
  }
  ReceiveSource* source_of_receives() {
    if (shared_source != nullptr) return shared_source.get();
    return common.attributes.has_receive_queue ? &receive_queue : nullptr;
  }
};

}  // namespace gdakit::softnic

// What the NIC has for the send queue of a client that has none: it reads no memory of the client's
// then, whatever a doorbell says.
#pragma once

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/objects/attributes.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {

inline DmaAddress no_send_queue() {
  static constexpr format::Wqebb kNone{};
  return host_address(&kNone);
}

inline bool has_send_queue(const QpAttributes& attributes) {
  return attributes.send_queue != no_send_queue();
}

}  // namespace gdakit::softnic

// What all parts of a queue pair share, whatever its transport.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/cq.h"
#include "core/host/counters.h"

namespace gdakit::softnic {

struct QpCommon {
  QpCommon(QpNumber qpn, const QpAttributes& given) : number(qpn), attributes(given) {}

  QpNumber number;
  QpAttributes attributes;
  QpState state = QpState::reset;
  QpModify settings;  // what the modifies set: path, rights, limits, timers
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  QpError first_error;
  QueueCounters counters;

  std::uint64_t send_depth() const { return std::uint64_t{1} << attributes.log_send_wqebbs; }
  std::uint64_t receive_depth() const { return std::uint64_t{1} << attributes.log_receive_wqes; }
};

}  // namespace gdakit::softnic

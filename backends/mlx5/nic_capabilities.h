// What of a NIC's firmware queues can make use of.
#pragma once

#include <cstdint>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

struct NicCapabilities {
  bool tells_first_error = false;  // QUERY_QP has what broke a queue pair
  // Ports that are bonded as one (LAG), if each queue pair is sent out by the one that it names; 0:
  // there are none.
  std::uint32_t lag_ports = 0;
  bool lag_port_in_rtr = false;  // INIT2RTR names it, too
  bool recordless = false;       // queue pairs may go by doorbells alone (send_dbr_mode)

  // What cannot be asked about is taken for absent.
  static NicCapabilities query(const Libraries& libraries, ibv_context* context);
};

}  // namespace gdakit::mlx5

// What kind of packet one is, for people: "WRITE", "READ request".
#pragma once

#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

constexpr const char* packet_name(PacketOpcode opcode) {
  if (is_write(opcode)) return "WRITE";
  if (is_send(opcode)) return "SEND";
  if (is_read_response(opcode)) return "READ response";
  switch (opcode) {
    case PacketOpcode::read_request: return "READ request";
    case PacketOpcode::atomic_request: return "atomic request";
    case PacketOpcode::atomic_acknowledge: return "atomic response";
    case PacketOpcode::congestion_notification: return "CNP";
    case PacketOpcode::dc_connect: return "connect";
    case PacketOpcode::dc_disconnect: return "disconnect";
    default: return "acknowledge";
  }
}

}  // namespace gdakit::softnic

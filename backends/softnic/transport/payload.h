// Packets and their payload: sent by Core::send, handed out where they arrive.
#pragma once

#include <cstdint>

#include "backends/softnic/transport/core.h"

namespace gdakit::softnic {

// A packet to the peer of `qp` with the fields that all kinds share.
Packet make_packet(const Qp& qp, PacketOpcode opcode, std::uint32_t psn);

// Hands out a packet's payload from first byte to last.
class PayloadReader {
 public:
  explicit PayloadReader(const Packet& packet) : packet_(packet) {}
  // Moves the next `size` bytes to memory; returns the last of the operations. `ends`: they
  // end a message whose last byte is to be seen last.
  DmaOp move_to(Core& core, DmaAddress to, std::uint64_t size, bool ends = false);

 private:
  const Packet& packet_;
  std::uint32_t fragment_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace gdakit::softnic

// Initiators of DC, a's, and targets, b's, with a shared receive queue and a CQ for all of these.
//
//   DcRig rig({.initiators = 2});
//   rig.srq.post({rig.segment(256, 64)});       // a receive WQE: 64 bytes at heap offset 256 of b
//   rig.send(0, 1, rig.send_wqe(0, 60));        // by initiator 0 to target 1
//   rig.run();
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/format/address_vector.h"
#include "tests/softnic/datagram_rig.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {

inline constexpr std::uint64_t kDcKey = 0x0123456789abcdef;

struct DcRigOptions {
  RigOptions rig = {};
  std::size_t initiators = 1;
  std::size_t targets = 1;
  std::uint32_t log_srq = 6;
  AddressKind addresses = AddressKind::ipv4;
  Access access = Access::all;   // of the targets
  std::uint8_t ack_timeout = 8;  // about a millisecond
};

// The address vector of a WQE.
std::vector<format::Segment> dc_av(const PortAddress& to, DctNumber dct, std::uint64_t key,
                                   bool is_long = true);

class DcRig : private WithAddresses {
 public:
  static constexpr std::uint32_t kUserIndex = 0x500;  // of the first target; others follow
  static constexpr std::uint32_t kLogSq = 6;

  // An initiator as its client has it.
  struct Initiator {
    Pages sq{std::size_t{format::kWqebbBytes} << kLogSq}, record{8};
    CqReader cq{8, false};
    CqNumber cqn = 0;
    QpNumber qpn = 0;
    std::uint64_t producer = 0;
  };

  explicit DcRig(const DcRigOptions& options = {});

  void connect(Initiator& initiator);
  DctAttributes target(std::size_t index = 0) const;
  // Of b's heap.
  format::DataSegment segment(std::size_t offset, std::uint32_t size) const {
    return format::data(rig.b.heap_address(offset), Be32{rig.b.key}, size);
  }
  // Of a's heap, and to b's.
  Wqe send_wqe(std::size_t from, std::uint32_t size, format::Opcode opcode = format::Opcode::send,
               std::uint32_t imm = 0) const;
  Wqe write(std::size_t to, std::size_t from, std::uint32_t size) const {
    return write_wqe(rig, to, from, size);
  }
  // Posts it, and rings.
  void send(std::size_t initiator, std::size_t target, const Wqe& wqe, std::uint64_t key = kDcKey) {
    send_to(initiator, targets[target], wqe, key);
  }
  void send_to(std::size_t initiator, DctNumber dct, Wqe wqe, std::uint64_t key = kDcKey);
  void post(std::size_t initiator, const Wqe& wqe);
  bool run() { return rig.run(); }
  // All WQEs of the initiator complete, in order: how many did so, if with success.
  std::size_t succeeded(std::size_t initiator);
  // What its next WQE that completes says; Syndrome::none: it has succeeded.
  format::Syndrome next(std::size_t initiator);
  // Drains the target, and waits until it is.
  bool drain(std::size_t target);

  SrqClient srq;  // memory that engines read to their end
  std::vector<std::unique_ptr<Initiator>> initiators;
  EngineRig rig;
  SrqNumber srqn = 0;
  std::vector<DctNumber> targets;

 private:
  void make_initiator(Initiator& initiator);

  DcRigOptions options_;
};

}  // namespace gdakit::softnic::test

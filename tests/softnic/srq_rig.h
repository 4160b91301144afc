// A shared receive queue as its client keeps it, and queue pairs of b's that take from it, each
// with one of a's that sends to it.
//
//   SrqRig rig({.pairs = 2});
//   rig.post(256, 64);       // a receive WQE: 64 bytes at heap offset 256 of b
//   rig.send(1, 0, 64);      // heap offset 0 of a, by the second queue pair
//   rig.run();
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/format/srq.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

// WQEs in a list, of which the client holds the free ones: it posts the first of those, and puts
// one that has completed behind the last. The last one is never posted.
class SrqClient {
 public:
  SrqClient(SrqForm form, std::uint32_t log_wqes, std::uint32_t log_stride);

  SrqAttributes attributes(PdNumber pd) const;
  // Posts a WQE of these data segments; returns its index.
  std::uint16_t post(const std::vector<format::DataSegment>& segments);
  // The WQE has completed.
  void free(std::uint16_t index);
  void store_next(std::uint16_t index, std::uint16_t next);
  DmaAddress wqe(std::uint16_t index) const { return host_address(at(index)); }
  DmaAddress record() const { return host_address(record_.data()); }

 private:
  std::uint8_t* at(std::uint16_t index) const {
    return wqes_.data() + (std::size_t{index} << log_stride_);
  }
  std::uint16_t next_of(std::uint16_t index) const;

  SrqForm form_;
  std::uint32_t log_wqes_, log_stride_;
  Pages wqes_, record_{4};
  std::uint16_t head_ = 0, tail_;
  std::uint32_t posted_ = 0;
};

struct SrqRigOptions {
  RigOptions rig = {};
  std::uint32_t pairs = 1;
  SrqForm form = SrqForm::list;
  std::uint32_t log_wqes = 4;
  std::uint32_t log_stride = 5;
  bool own_pd = false;  // of the shared receive queue: not the queue pairs'
};

class SrqRig {
 public:
  explicit SrqRig(const SrqRigOptions& options = {});

  std::uint16_t post(std::size_t offset, std::uint32_t size) {
    return srq.post({segment(offset, size)});
  }
  format::DataSegment segment(std::size_t offset, std::uint32_t size) const {
    return format::data(rig.b.heap_address(offset), Be32{key}, size);
  }
  void send(std::size_t pair, std::size_t from, std::uint32_t size,
            format::Opcode opcode = format::Opcode::send, std::uint32_t imm = 0);
  // The beginning of a message of `size` bytes arrives, and no more.
  void send_a_part(std::size_t pair, std::uint32_t size);
  // The first pair fails in the middle of a message of `size` bytes: its WQE completes, flushed,
  // before the last WQE is told of.
  void expect_flush_before_last_wqe(std::uint32_t size);
  // Brings b's queue pair to this state.
  void modify(std::size_t pair, QpState state);
  // Destroys b's queue pair, and makes another one in its place.
  void remake(std::size_t pair);
  // Both ends, anew.
  void connect(std::size_t pair);

  bool run() { return rig.run(); }
  void step() { rig.step(); }
  QpState state(std::size_t pair) const { return rig.b.engine.query_qp(pairs[pair]->to)->state; }
  SrqInfo info() const { return *rig.b.engine.query_srq(srqn); }
  std::vector<format::Cqe64> received() { return rig.b.receive_cq.poll_all(); }

  // One of a's queue pairs, and that of b's which it sends to.
  struct Pair {
    Pages sq{std::size_t{format::kWqebbBytes} << kLogSq}, record{8};
    Pages unused_sq{format::kWqebbBytes}, unused_record{8};
    QpNumber from = 0, to = 0;
    std::uint64_t producer = 0;

    static constexpr std::uint32_t kLogSq = 10;
  };
  static constexpr std::uint32_t kUserIndex = 0x100;  // of the first pair's; others follow

  SrqClient srq;  // memory that engines read to their end
  std::vector<std::unique_ptr<Pair>> pairs;
  EngineRig rig;
  PdNumber pd = 0;    // of the shared receive queue
  MemoryKey key = 0;  // of b's heap, in that
  SrqNumber srqn = 0;

 private:
  void make_sender(Pair& pair);
  void make_receiver(Pair& pair, std::uint32_t user_index);

  RigOptions options_;
};

}  // namespace gdakit::softnic::test

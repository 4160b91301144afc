// An initiator of XRC, a's, and a target, b's, in place of the queue pairs that they had; and
// shared receive queues in the target's domain, each with a CQ of its own.
//
//   XrcRig rig;
//   rig.queues[1]->post(256, 64);                // a receive WQE: 64 bytes at heap offset 256 of b
//   rig.post(1, rig.send_wqe(0, 60));            // heap offset 0 of a, for the second queue
//   rig.run();
//   auto cqe = rig.queues[1]->cq.poll();
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {

// A shared receive queue of XRC as its client has it.
class XrcQueue {
 public:
  static constexpr std::uint32_t kLogWqes = 4;

  // `own_pd`: its protection domain is not the side's.
  XrcQueue(Side& side, XrcdNumber domain, std::uint32_t user_index, bool own_pd = false);

  std::uint16_t post(std::size_t offset, std::uint32_t size) {
    return client.post({format::data(side_.heap_address(offset), Be32{key}, size)});
  }
  format::Segment remote(std::size_t offset) const {
    return format::to_segment(format::remote_address(side_.heap_address(offset), Be32{key}));
  }
  SrqInfo info() const { return *side_.engine.query_srq(number); }
  void destroy() { ASSERT_TRUE(side_.engine.destroy_srq(number)); }

  SrqClient client{SrqForm::list, kLogWqes, 5};
  CqReader cq{6, false};
  CqNumber cqn = 0;
  SrqNumber number = 0;
  PdNumber pd = 0;
  MemoryKey key = 0;  // of the side's heap, in that

 private:
  Side& side_;
};

struct XrcRigOptions {
  RigOptions rig = {};
  std::size_t queues = 2;
  bool own_pd = false;  // of the second queue and those behind it
};

class XrcRig {
 public:
  static constexpr std::uint32_t kUserIndex = 0x300;  // of the first queue; others follow

  explicit XrcRig(const XrcRigOptions& options = {});

  // From reset to rts, both ends.
  void connect();
  // Of a's heap.
  Wqe send_wqe(std::size_t from, std::uint32_t size, format::Opcode opcode = format::Opcode::send,
               std::uint32_t imm = 0) const;
  // Posts it for the queue of this index, and rings.
  void post(std::size_t queue, const Wqe& wqe) { post_for(queues[queue]->number, wqe); }
  void post_for(SrqNumber srq, Wqe wqe);
  bool run() { return rig.run(); }
  // What the next WQE of a's that completes says; Syndrome::none: it has succeeded.
  format::Syndrome next_sent();
  // A message whose beginning has arrived, for the queue of this index.
  void begin_message(std::size_t queue, std::uint32_t size);

  std::vector<std::unique_ptr<XrcQueue>> queues;  // memory that engines read to their end
  EngineRig rig;
  XrcdNumber domain = 0;

 private:
  QpModify limits_;
};

}  // namespace gdakit::softnic::test

// DmaPort: how the engine touches memory, its own registers apart.
//
//   engine                          port                            memory
//   op = write(to, from, size) -->  queued
//   submit()                   -->  started as one batch       -->  bytes move
//   poll(); done(op)           <--  finished                   <--
//
// Contract. Operations may finish later and in any order, and the engine must not assume more than
// this:
//   - read fills `to` before done(op); reading 1, 2, 4 or 8 naturally aligned bytes is one atomic
//     load, which later operations of this port come after (acquire).
//   - write and write_cqe take their bytes before they return; `from` may be reused at once.
//   - writing or copying 1, 2, 4 or 8 bytes to a naturally aligned place is one atomic store, which
//     comes after all operations that were done before it was queued (release).
//   - where orders_ends() is true, write_last and copy_last make the last byte visible last, and by
//     the same store all of the last word: the longest aligned one of up to 8 bytes that is shorter
//     than the range. Clients poll it. Two exceptions, both of a GPU's copy engine. It keeps the
//     word whole only if the range begins at a multiple of its size, too. A range of two words of 1
//     or 2 bytes, or between two GPUs of two words of any size, has no order.
//   - write_cqe makes the last eight bytes visible last, by one store.
//   - where ordered() is true, writes, copies, atomics and CQEs of one chain become visible in the
//     order queued, as a PCIe device's posted writes do; otherwise the engine itself waits for one
//     before it queues the next. What comes behind write_last or copy_last becomes visible after
//     all of it. Copies without a mark may be seen side by side, and with the marked one that ends
//     their message.
//   - done() of a write, copy or CQE may be true before its bytes are visible, if nothing becomes
//     visible before it that this port queues from then on, or that any port of the same wire
//     queues after a packet which was published behind this port's next submit(). So the engine
//     submits before it publishes. fence() waits for the bytes themselves, those of every port with
//     which this one keeps such an order included.
// A port is used by one thread at a time. It never refuses an operation and touches nothing but the
// ranges it is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/dma/atomics.h"
#include "backends/softnic/objects/attributes.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

// Names one queued operation. 0: it is already done.
struct DmaOp {
  std::uint64_t id = 0;
};

class DmaPort {
 public:
  virtual ~DmaPort() = default;

  virtual bool ordered() const = 0;

  // What is queued from here on belongs to this chain (a queue pair). Between chains there is no
  // order before one's operation is done and the other's is queued.
  virtual void order_chain(std::uint64_t) {}

  // Operations will name this memory from now on; until detach, which comes when nothing is under
  // way there any more. Ranges may overlap, and may be attached more than once.
  virtual void attach(DmaAddress, std::uint64_t) {}
  virtual void detach(DmaAddress, std::uint64_t) {}

  virtual DmaOp read(void* to, DmaAddress from, std::size_t size) = 0;
  virtual DmaOp write(DmaAddress to, const void* from, std::size_t size) = 0;
  // From memory to memory. The ranges do not overlap, or the bytes that land are unspecified.
  virtual DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) = 0;
  // As write and copy, for the end of a message of which the peer may poll the last byte. Where
  // orders_ends() is false they do no more than those.
  virtual bool orders_ends() const { return false; }
  virtual DmaOp write_last(DmaAddress to, const void* from, std::size_t size) {
    return write(to, from, size);
  }
  virtual DmaOp copy_last(DmaAddress to, DmaAddress from, std::size_t size) {
    return copy(to, from, size);
  }
  // One indivisible read-modify-write of a naturally aligned word; `old` receives the word as it
  // was.
  virtual DmaOp atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) = 0;
  virtual DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) = 0;
  // Done once every operation queued before it is done, and its bytes are visible.
  virtual DmaOp fence() = 0;
  // Done once every read queued before it is done.
  virtual DmaOp read_fence() { return fence(); }

  // True for good once the memory is gone, as a GPU's is after a fault of a kernel: what was done
  // since may have moved nothing, so nobody may be told that it is done.
  virtual bool lost() const { return false; }

  virtual bool done(DmaOp op) = 0;
  virtual void submit() = 0;
  virtual void poll() = 0;
};

}  // namespace gdakit::softnic

// MiniQueue: a small, correct way to post to a NIC's send queue and to wait for it, whose every
// step can be replaced. An exhibit of the museum is a MiniQueue with one step as somebody once
// shipped it.
//
//   poster                             NIC                        waiter
//   ------                             ---                        ------
//   reserve        reserved += n
//   wait_for_room  while the ring is full
//   (writes the WQEs)
//   publish        ready: base -> end
//   ring
//     lock
//     ready_end    reads ready
//     announce     record, doorbell    fetches, executes,
//     unlock                           writes data, then the CQE  completed  reads the CQE
//                                                                 wait       until it tells enough
//
// It is what NVSHMEM, DOCA GPUNetIO and their children do in outline, and on purpose not what
// device/*.h does: an index that posters push on in the order of their reservations, and a lock
// around record and doorbell. The indices lie in QueueView::state, as those of the shipped
// protocol.
#pragma once

#include <cstdint>

#include "device/address.h"
#include "device/pe.h"
#include "sim/world/world.h"

namespace gdakit::museum {

template <Kind kKind, Scope kScope>
struct Order {
  static constexpr Kind kind = kKind;
  static constexpr Scope scope = kScope;
};
using Relaxed = Order<Kind::relaxed, Scope::system>;
using AcquireGpu = Order<Kind::acquire, Scope::gpu>;
using ReleaseGpu = Order<Kind::release, Scope::gpu>;
using AcqRelGpu = Order<Kind::acq_rel, Scope::gpu>;
using AcquireSystem = Order<Kind::acquire, Scope::system>;
using ReleaseSystem = Order<Kind::release, Scope::system>;

using Word = std::uint64_t;
using Index = std::uint64_t;  // of a WQEBB; where a wait is meant: all below it
using SimPe = Pe<sim::SimMachine>;

// What the mini protocol needs of a queue beside QueueState.
struct Words {
  Word ready;  // all WQEs below are written
  Word lock;   // around record and doorbell
};

// Where a queue stands: `words` has one entry for each queue of the PE, as DeviceContext::queues.
struct QueuePlace {
  Words* words = nullptr;
  std::uint32_t queue = 0;  // among those to the peer
  std::int32_t peer = 1;
};

class MiniQueue {
 public:
  MiniQueue(SimPe& pe, const QueuePlace& place);
  MiniQueue(const MiniQueue&) = delete;
  virtual ~MiniQueue() = default;

  // Each posts one WQE that asks for a CQE, and returns what to wait for.
  Index put(Word* remote, Word value);          // travels inside the WQE
  Index copy(Word* remote, const Word* local);  // is fetched by the NIC
  virtual Index get(Word* local, const Word* remote);
  Index add(Word* remote, Word value);  // atomically, by the NIC at the other end

  // Posts `count` puts that ask for neither doorbell nor CQE; a later post rings for them.
  void put_quietly(Word* remote, Word value, Word count);

  // The lanes of a block's only warp put together, each to its own word: one reservation, each lane
  // writes its own WQE, lane 0 rings.
  virtual Index warp_put(Word* remote, Word value);

  // False if the queue is broken.
  virtual bool wait(Index until);
  // The same for a get, whose result is there afterwards.
  virtual bool wait_for_result(Index until);

  // Data before signal, and the wait on the other side.
  virtual void send(Word* data, Word value, Word* signal);
  virtual void await(const Word* data, const Word* signal);

 protected:
  virtual Index reserve(std::uint32_t slots);
  virtual void wait_for_room(Index end);
  virtual void publish(Index base, Index end);
  virtual void ring();
  virtual void lock();
  virtual Index ready_end();
  virtual void announce(Index end);
  virtual void unlock();
  virtual Index completed();

  static constexpr std::uint8_t kUnsignalled =
      format::fm_ce_se(format::FenceMode::none, format::Completion::on_error);
  static constexpr std::uint8_t kSignalled =
      format::fm_ce_se(format::FenceMode::none, format::Completion::always);

  void write_put(Index at, Word* remote, Word value, std::uint8_t fm_ce_se = kSignalled);
  void write_get(Index at, Word* local, const Word* remote);
  void write_flush(Index at, format::FenceMode fence);
  void store_record(Index end);
  void store_doorbell(Index end);
  // Makes what the NIC wrote here visible, where the GPU does not see to that.
  bool flush();
  Span span(const void* remote) const;
  Span local(const void* address) const;
  template <class Write>
  Index post(Write&& write);

  sim::SimMachine& m;
  SimPe& pe;
  const QueuePlace place;
  const QueueView& queue;
  QueueState& state;
  Words& words;
};

template <class Write>
Index MiniQueue::post(Write&& write) {
  const Index base = reserve(1);
  wait_for_room(base + 1);
  write(base);
  publish(base, base + 1);
  ring();
  return base + 1;
}

// A queue that one thread at a time posts to: nothing to agree about.
class SoleQueue : public MiniQueue {
 public:
  using MiniQueue::MiniQueue;

 protected:
  void publish(Index, Index) override {}
  Index ready_end() override { return m.load(Relaxed{}, &state.reserved); }
  void lock() override {}
  void unlock() override {}
};

// The same calls on the shipped protocol.
class ShippedQueue {
 public:
  ShippedQueue(SimPe& pe, const QueuePlace& place) : pe_(pe), place_(place) {}

  Index put(Word* remote, Word value);
  Index copy(Word* remote, const Word* local);
  Index get(Word* local, const Word* remote);
  Index add(Word* remote, Word value);
  Index warp_put(Word* remote, Word value) { return put(remote + pe_.machine().lane(), value); }
  void put_quietly(Word* remote, Word value, Word count);
  bool wait(Index until);
  bool wait_for_result(Index until) { return wait(until); }
  void send(Word* data, Word value, Word* signal);
  void await(const Word* data, const Word* signal);

 private:
  SimPe& pe_;
  const QueuePlace place_;
};

}  // namespace gdakit::museum

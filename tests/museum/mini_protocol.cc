#include "tests/museum/mini_protocol.h"

#include "device/atomics.h"
#include "device/completion.h"
#include "device/wqe_writer.h"

namespace gdakit::museum {
namespace {

std::uint64_t table_index(const SimPe& pe, const QueuePlace& place) {
  return place.queue * static_cast<std::uint64_t>(pe.n_pes()) +
         static_cast<std::uint64_t>(place.peer);
}

}  // namespace

MiniQueue::MiniQueue(SimPe& of, const QueuePlace& at)
    : m(of.machine()),
      pe(of),
      place(at),
      queue(of.context().queues[table_index(of, at)]),
      state(*queue.state),
      words(at.words[table_index(of, at)]) {}

Span MiniQueue::span(const void* remote) const {
  return remote_span(pe.context(), reinterpret_cast<std::uint64_t>(remote), place.peer, 0);
}
Span MiniQueue::local(const void* address) const {
  return local_span(pe.context(), reinterpret_cast<std::uint64_t>(address), 0);
}

void MiniQueue::write_put(Index at, Word* remote, Word value, std::uint8_t fm_ce_se) {
  write_inline(m, queue, at, fm_ce_se, span(remote), value, sizeof value);
}

void MiniQueue::write_get(Index at, Word* to, const Word* remote) {
  write_rdma(m, queue, at, format::Opcode::rdma_read, kSignalled, span(remote), local(to),
             sizeof *to);
}

void MiniQueue::write_flush(Index at, format::FenceMode fence) {
  write_dump(m, queue, at, format::fm_ce_se(fence, format::Completion::always));
}

Index MiniQueue::put(Word* remote, Word value) {
  return post([&](Index at) { write_put(at, remote, value); });
}
Index MiniQueue::copy(Word* remote, const Word* from) {
  return post([&](Index at) {
    write_rdma(m, queue, at, format::Opcode::rdma_write, kSignalled, span(remote), local(from),
               sizeof *from);
  });
}
Index MiniQueue::get(Word* to, const Word* remote) {
  return post([&](Index at) { write_get(at, to, remote); });
}
Index MiniQueue::add(Word* remote, Word value) {
  return post([&](Index at) {
    atomics::write_atomic(m, queue, at, kSignalled, span(remote), sink_of(queue),
                          {atomics::Op::add, value}, sizeof value);
  });
}

void MiniQueue::put_quietly(Word* remote, Word value, Word count) {
  const Index base = reserve(static_cast<std::uint32_t>(count));
  wait_for_room(base + count);
  for (Index at = base; at < base + count; ++at) write_put(at, remote, value, kUnsignalled);
  publish(base, base + count);
}

Index MiniQueue::warp_put(Word* remote, Word value) {
  const auto lanes = static_cast<std::uint32_t>(low_bits(static_cast<int>(m.block_threads())));
  Index base = 0;
  if (m.lane() == 0) {
    base = reserve(m.block_threads());
    wait_for_room(base + m.block_threads());
  }
  base = m.shuffle(lanes, base, 0);
  m.sync_warp(lanes);  // lane 0 saw that the slots are free
  write_put(base + m.lane(), remote + m.lane(), value);
  m.sync_warp(lanes);  // before lane 0 tells of them
  const Index end = base + m.block_threads();
  if (m.lane() == 0) {
    publish(base, end);
    ring();
  }
  return end;
}

Index MiniQueue::reserve(std::uint32_t slots) {
  return m.fetch_add(Relaxed{}, &state.reserved, slots);
}

void MiniQueue::wait_for_room(Index end) {
  if (end <= m.load(AcquireGpu{}, &state.completed) + queue.depth) return;
  while (end > completed() + queue.depth) m.spin(Site::queue_room);
}

// Releases the poster's WQEs and takes over those of the posters before it.
void MiniQueue::publish(Index base, Index end) {
  while (m.compare_exchange(AcqRelGpu{}, &words.ready, base, end) != base) m.spin(Site::user);
}

void MiniQueue::ring() {
  lock();
  const Index end = ready_end();
  if (end > m.load(Relaxed{}, &state.posted)) {
    announce(end);
    m.store(Relaxed{}, &state.posted, end);
  }
  unlock();
}

void MiniQueue::lock() {
  while (m.compare_exchange(AcquireGpu{}, &words.lock, 0, 1) != 0) m.spin(Site::user);
}
void MiniQueue::unlock() { m.store(ReleaseGpu{}, &words.lock, 0); }

Index MiniQueue::ready_end() { return m.load(AcquireGpu{}, &words.ready); }

void MiniQueue::announce(Index end) {
  if (queue.handler == Handler::proxy) {
    m.store(ReleaseSystem{}, queue.doorbell, end);
    return;
  }
  m.fence(ReleaseSystem{});  // WQEs before the record
  store_record(end);
  m.fence(ReleaseSystem{});  // the record before the doorbell
  store_doorbell(end);
}

void MiniQueue::store_record(Index end) {
  m.store(Relaxed{}, queue.record, format::doorbell_record_value(end).raw());
}
void MiniQueue::store_doorbell(Index end) {
  m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
}

// One look at the collapsed CQE.
Index MiniQueue::completed() {
  const Index seen = m.load(AcquireGpu{}, &state.completed);
  const format::CqeTail tail{m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord])};
  if (tail.opcode() == format::CqeOpcode::invalid) return seen;
  if (is_error(tail.opcode())) {
    m.store(Relaxed{}, &state.error, QueueError::kBroken);
    return seen;
  }
  const Index done =
      widen_counter(seen, static_cast<std::uint16_t>(tail.wqe_counter() + 1), queue.depth);
  if (done != seen) m.fetch_max(AcqRelGpu{}, &state.completed, done);
  return done;
}

bool MiniQueue::wait(Index until) {
  while (completed() < until) {
    if (m.load(Relaxed{}, &state.error) != 0) return false;
    m.spin(Site::queue_completion);
  }
  return true;
}

bool MiniQueue::wait_for_result(Index until) { return wait(until) && flush(); }

void MiniQueue::send(Word* data, Word value, Word* signal) {
  put(data, value);
  wait(add(signal, 1));
}

void MiniQueue::await(const Word*, const Word* signal) {
  while (m.load(AcquireSystem{}, signal) == 0) m.spin(Site::signal);
  flush();
}

bool MiniQueue::flush() {
  if (!pe.context().needs_cst) return true;
  return wait(post([&](Index at) { write_flush(at, format::FenceMode::fence); }));
}

Index ShippedQueue::put(Word* remote, Word value) {
  // A Pe's put_value gives no ticket; all that was reserved so far is at least this put.
  static_cast<void>(pe_.on_queue(place_.queue).put_value(remote, value, place_.peer));
  return 0;
}
void ShippedQueue::put_quietly(Word* remote, Word value, Word count) {
  for (Word i = 0; i < count; ++i) {
    static_cast<void>(
        pe_.on_queue(place_.queue).put_value(remote, value, place_.peer, Batch::more));
  }
}
Index ShippedQueue::copy(Word* remote, const Word* from) {
  return pe_.on_queue(place_.queue).put_async(remote, from, 1, place_.peer).index;
}
Index ShippedQueue::get(Word* to, const Word* remote) {
  return pe_.on_queue(place_.queue).get_async(to, remote, 1, place_.peer).index;
}
Index ShippedQueue::add(Word* remote, Word value) {
  static_cast<void>(pe_.on_queue(place_.queue).signal(remote, value, SignalOp::add, place_.peer));
  return 0;
}
bool ShippedQueue::wait(Index until) {
  if (until == 0) return pe_.quiet().ok();
  return pe_.wait(Ticket{place_.queue, place_.peer, until, {}}).ok();
}
void ShippedQueue::send(Word* data, Word value, Word* signal) {
  put(data, value);
  add(signal, 1);
  wait(0);
}
void ShippedQueue::await(const Word*, const Word* signal) {
  static_cast<void>(pe_.wait_until(signal, Compare::ne, 0));
}

}  // namespace gdakit::museum

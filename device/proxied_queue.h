// The proxy's side of a queue: what a host thread does for one whose threads do not ring
// themselves. It has no thread and no memory of its own, so the host's proxy (core/host/proxy.h)
// and the simulator run the same code.
//
//   device's threads                host thread                           NIC
//   Handler::proxy
//     WQEs ------------------------------------------------------------>  fetches
//     index  --->                   record, doorbell  ----------------->
//     polls  <----------------------------------------------------------  CQE
//   Handler::commands
//     commands, index --->          WQEs, record, doorbell ------------>  fetches
//     polls  <---                   CQE, copied  <----------------------  CQE
//
// Command and WQE of an operation have the same number, so the device's own rule that `reserved`
// never exceeds `completed` by more than the depth keeps the send queue from running over: a slot
// is written again only after the completion that was passed on for it.
#pragma once

#include "device/atomics.h"
#include "device/completion.h"

namespace gdakit {

// One queue as both sides see it. With Handler::proxy the two views are of the same memory.
struct ProxiedQueue {
  QueueView device;             // of its handler: commands, the index, the completions passed on
  QueueView nic;                // the send queue, the CQE that the NIC writes, record and doorbell
  std::uint64_t announced = 0;  // everything below was rung for
  std::uint64_t completion = ~std::uint64_t{0};  // the CQE's tail as it was last passed on
  bool broken = false;  // an error was passed on; what follows are flushed WQEs

  static ProxiedQueue of(const QueueView& device, QueueView nic) {
    nic.handler = Handler::gpu;  // the functions that write WQEs shall store WQEs there
    return {device, nic};
  }
};

namespace proxied {

// How many slots the host thread rings for at once, so that the NIC begins with the first ones
// while it writes the next, and other queues get their turn.
inline constexpr std::uint64_t kSlotsAtOnce = 32;

// For a slot without a command of its number: the NIC refuses a WQE of this kind, so the queue
// breaks as it does by a WQE that was not written.
inline constexpr format::Opcode kNoOpcode{0x3f};

template <class M>
Command read_command(M& m, const QueueView& queue, std::uint64_t index) {
  const format::Segment* const at =
      queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  format::Wqebb words{};
  const auto read = [&](std::uint32_t segment) {
    words.segments[segment] = {m.load_weak(&at[segment].low), m.load_weak(&at[segment].high)};
  };
  read(0);
  const std::uint32_t segments = segments_of(bit_cast<Command>(words).kind);
  for (std::uint32_t i = 1; i < segments; ++i) read(i);
  return bit_cast<Command>(words);
}

// Writes the WQE of `command` into the slot of `index`, with the functions by which the device
// writes its own. Returns how many WQEBBs it takes: such queues are of RC.
template <class M>
std::uint32_t write_wqe(M& m, const QueueView& nic, std::uint64_t index, const Command& command) {
  const Span remote{command.remote, command.bytes, command.rkey};
  const Span local{command.local, command.bytes, command.lkey};
  const std::uint8_t flags = command.fm_ce_se;
  const bool is_new = command.number == format::wire_index(index);
  const CommandKind kind = is_new ? command.kind : CommandKind::none;
  if (atomics::is_atomic(kind)) {
    const atomics::Op op = atomics::op_of(kind);
    const atomics::Request request{op, command.operand, command.compare};
    atomics::write_atomic(m, nic, index, flags, remote, local, request, command.bytes);
    return atomics::cells(nic, op, command.bytes);
  }
  switch (kind) {
    case CommandKind::write:
      write_rdma(m, nic, index, format::Opcode::rdma_write, flags, remote, local, command.bytes);
      break;
    case CommandKind::read:
      write_rdma(m, nic, index, format::Opcode::rdma_read, flags, remote, local, command.bytes);
      break;
    case CommandKind::write_value:
      write_inline(m, nic, index, flags, remote, command.local, command.bytes);
      break;
    case CommandKind::nop: write_nop(m, nic, index, flags); break;
    case CommandKind::dump: write_dump(m, nic, index, flags); break;
    default: store_wqebb(m, nic, index, {control_segment(nic, index, kNoOpcode, 0, 1, flags)});
  }
  return 1;
}

// Makes WQEs of the commands from `begin` to `end`, or as many as go at once. Returns where it
// stopped: no command lies across `end`.
template <class M>
std::uint64_t write_wqes(M& m, const ProxiedQueue& queue, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = begin;
  while (at < end && at - begin < kSlotsAtOnce) {
    at += write_wqe(m, queue.nic, at, read_command(m, queue.device, at));
  }
  return at;
}

// Rings for what the device has announced. False if there is nothing new.
template <class M>
bool announce(M& m, ProxiedQueue& queue) {
  const std::uint64_t index = m.load(order::ProxyIndexSeen{}, queue.device.doorbell);
  if (index <= queue.announced) return false;
  const bool commands = queue.device.handler == Handler::commands;
  queue.announced = commands ? write_wqes(m, queue, queue.announced, index) : index;
  m.store(order::ProxyWqeBeforeRecord{}, queue.nic.record,
          format::doorbell_record_value(queue.announced).raw());
  m.fence(order::ProxyRecordBeforeDoorbell{});
  m.store_mmio(queue.nic.doorbell,
               format::doorbell_value(queue.announced, queue.nic.qpn_shifted >> 8));
  return true;
}

// Passes the NIC's newest completion on to the device's threads. False if there is none. Of a
// healthy queue the last word of the CQE says all; the counter in it comes again only after more
// WQEBBs than can be under way.
template <class M>
bool pass_completion_on(M& m, ProxiedQueue& queue) {
  if (queue.device.handler != Handler::commands || queue.broken) return false;
  const format::CqeTail tail{m.load(order::ProxyCompletionSeen{}, &queue.nic.cqe[kCqeTailWord])};
  if (tail.raw == queue.completion) return false;
  queue.completion = tail.raw;
  if (is_error(tail.opcode())) {
    const std::uint64_t detail = m.load(order::RelaxedSystem{}, &queue.nic.cqe[kCqeSyndromeWord]);
    m.store_weak(&queue.device.cqe[kCqeSyndromeWord], detail);
    queue.broken = true;
  }
  m.store(order::ProxyCompletionPassedOn{}, &queue.device.cqe[kCqeTailWord], tail.raw);
  return true;
}

// One look at the queue, and what there is to do. False if there was nothing.
template <class M>
bool turn(M& m, ProxiedQueue& queue) {
  const bool passed_on = pass_completion_on(m, queue);
  return announce(m, queue) || passed_on;
}

}  // namespace proxied
}  // namespace gdakit

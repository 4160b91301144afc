// Channel: what a kernel sees of channels to all PEs. The public device API of two-sided operations
// and immediates.
//
//   auto channel = pe.channel(channels);               // what Context::add_channels returned
//   channel.post_receive(buffer, bytes, from);         // receiver: a buffer for the next message
//   channel.send(message, count, to);                  // sender
//   Received got = channel.wait_receive(from);         // receiver: buffer, bytes, who sent it
//
//   channel.put_async(there, page, bytes, to, Batch::more);     // as many as it takes, one-sided
//   channel.put_with_immediate(there, page, bytes, number, to); // and the receiver hears of it
//
// Messages. A send, and a put_with_immediate, takes the receiver's oldest posted receive, of which
// it makes one Received. The bytes of a send go to the buffer of that receive, those of
// put_with_immediate to the symmetric address that the sender names; its receive may be one without
// a buffer. The receiver does not hear of plain puts.
//
// Who calls. Any threads may send and put, at any time, also several on one channel. One thread at
// a time receives (post_receive, poll_receive, wait_receive) on a channel from one PE; another one
// may go on where it was behind a barrier of the block, or a word with release and acquire. Calls
// are by single threads. Lanes of a warp that put or send in the same call post together.
//
// Order. What a thread posts on one channel to one PE takes effect there in the order of the calls
// (puts with GDAKIT_PLACEMENT=any do not), as do the calls of several threads that are ordered. Who
// has received a message sees its bytes, and those of all that was posted to the channel before it.
// Channels always go through the NIC: with other channels, with a Pe's other operations and with
// direct peers nothing orders them but completion.
//
// Completion. A blocking call returns when the message is delivered: its source may be reused, and
// its Received can be taken. nbi calls complete by quiet, async calls return a Ticket for wait and
// test of this channel (not for those of the Pe).
//
// Errors. A send finds no posted receive: the sender's NIC tries again for as long as
// ChannelOptions::rnr_retry says, then the channel breaks (Syndrome::rnr_retry_exceeded); where it
// tries for ever, the sender's wait gives up after GDAKIT_WATCHDOG. A message that is longer than
// its buffer breaks the channel on both sides (Syndrome::local_length at the receiver,
// remote_invalid_request at the sender), and nothing of it counts as received. One that finds no
// receive breaks it at the sender only. A broken channel refuses sends, its receives return the
// error once they find no message, and Context::launch reports it. Memory that is not registered,
// too many receives and the like are refused by the call (StatusCode::invalid_address,
// invalid_argument), which posts nothing.
//
// Source: InfiniBand specification, volume 1, section 9.7.7 for RC's acknowledges.
#pragma once

#include "device/batch_end.h"
#include "device/channel_wqe.h"
#include "device/pe.h"
#include "device/receive_queue.h"
#include "device/rma.h"
#include "device/wait_until.h"

namespace gdakit {

template <class M>
class Channel {
 public:
  // `context` must outlive it. Channel `number` (0 .. Channels::count - 1) to each PE.
  GDAKIT_DEVICE Channel(M& m, const DeviceContext& context, const Channels& channels,
                        std::uint32_t number)
      : m_(m),
        context_(context),
        post_context_(post_context(context)),
        channels_(channels),
        number_(number) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // ---- Sending. `count` elements of T, or bytes, of this PE's heap or registered memory.

  template <class T>
  GDAKIT_DEVICE Status send(const T* local, std::size_t count, int pe) {
    return finish(send_async(local, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status send_nbi(const T* local, std::size_t count, int pe,
                                Batch batch = Batch::last) {
    return send_async(local, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket send_async(const T* local, std::size_t count, int pe,
                                  Batch batch = Batch::last) {
    return send_bytes_async(local, bytes_of<T>(count), pe, batch);
  }
  // At most max_message_bytes (1 GiB with the soft NIC), in at most kSendPieces pieces of
  // registered memory: the borders of the heap's chunks cut, too.
  GDAKIT_DEVICE Ticket send_bytes_async(const void* local, std::size_t bytes, int pe,
                                        Batch batch = Batch::last) {
    if (const Status good = check(Operation::send, local, bytes, pe); !good) {
      return refused(good, pe, batch);
    }
    const auto address = reinterpret_cast<std::uint64_t>(local);
    const auto pieces = cut<kSendPieces>(address, bytes);
    if (const Status good = check(Operation::send, pieces, local, bytes, pe); !good) {
      return refused(good, pe, batch);
    }
    return post({format::Opcode::send}, pieces, pe, batch);
  }

  // ---- One-sided, on the channel's queue: ordered before its later messages. As Pe::put.

  template <class T>
  GDAKIT_DEVICE Status put_nbi(T* remote, const T* local, std::size_t count, int pe,
                               Batch batch = Batch::last) {
    return put_async(remote, local, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_async(T* remote, const T* local, std::size_t count, int pe,
                                 Batch batch = Batch::last) {
    return put_bytes_async(remote, local, bytes_of<T>(count), pe, batch);
  }
  GDAKIT_DEVICE Ticket put_bytes_async(void* remote, const void* local, std::size_t bytes, int pe,
                                       Batch batch = Batch::last) {
    return put({format::Opcode::rdma_write}, remote, local, bytes, pe, batch);
  }

  // The same, and behind it the receiver gets a message with `immediate` and the number of bytes
  // (of a put that is cut in several WQEs, those of the last). `count` may be 0.
  template <class T>
  GDAKIT_DEVICE Status put_with_immediate(T* remote, const T* local, std::size_t count,
                                          std::uint32_t immediate, int pe) {
    return finish(put_with_immediate_async(remote, local, count, immediate, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status put_with_immediate_nbi(T* remote, const T* local, std::size_t count,
                                              std::uint32_t immediate, int pe,
                                              Batch batch = Batch::last) {
    return put_with_immediate_async(remote, local, count, immediate, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_with_immediate_async(T* remote, const T* local, std::size_t count,
                                                std::uint32_t immediate, int pe,
                                                Batch batch = Batch::last) {
    return put_bytes_with_immediate_async(remote, local, bytes_of<T>(count), immediate, pe, batch);
  }
  GDAKIT_DEVICE Ticket put_bytes_with_immediate_async(void* remote, const void* local,
                                                      std::size_t bytes, std::uint32_t immediate,
                                                      int pe, Batch batch = Batch::last) {
    return put({format::Opcode::rdma_write_imm, Be32{immediate}}, remote, local, bytes, pe, batch);
  }

  // ---- Completion of what was posted here.

  GDAKIT_DEVICE Status wait(const Ticket& ticket) {
    if (!ticket.status || ticket.index == 0) return ticket.status;
    if (!is_mine(ticket)) return fault(Operation::await, Fault::ticket, ticket.peer, 0, 0);
    return complete(ticket.peer, ticket.index);
  }
  // Whether it is done, well or not. With several NICs that takes a round trip to the peer, and to
  // the PE itself, on GPUs before Hopper, a DUMP. Does not close an open batch.
  GDAKIT_DEVICE bool test(const Ticket& ticket, Status* status = nullptr) {
    Status found = ticket.status;
    bool done = true;
    if (found.ok() && ticket.index != 0) {
      if (!is_mine(ticket)) {
        found = fault(Operation::await, Fault::ticket, ticket.peer, 0, 0);
      } else if (const QueueView& queue = queue_to(ticket.peer);
                 poll_completion(m_, queue) < ticket.index) {
        found = queue_status(m_, queue);
        done = !found.ok();
      } else {
        found = make_visible(ticket.peer);
      }
    }
    give(status, found);
    return done;
  }
  // All that this PE posted on this channel before, to every PE. Returns the first failure.
  GDAKIT_DEVICE Status quiet() {
    Status status;
    for (std::int32_t pe = 0; pe < context_.n_pes; ++pe) {
      if (!exists(pe)) continue;
      const Status one = complete(pe, to(pe).reserved());
      if (status.ok()) status = one;
    }
    return status;
  }

  // ---- Receiving from `pe`.

  // Gives the NIC a buffer of this PE's heap or registered memory, in at most kReceiveSegments
  // pieces, for one of the next messages: they fill buffers in the order in which these were
  // posted. Until its message has come it is the NIC's. Errors: receive_depth are posted.
  GDAKIT_DEVICE Status post_receive(void* buffer, std::size_t bytes, int pe) {
    if (const Status good = check(Operation::receive, buffer, bytes, pe); !good) return good;
    const auto address = reinterpret_cast<std::uint64_t>(buffer);
    const auto pieces = cut<kReceiveSegments>(address, bytes);
    if (const Status good = check(Operation::receive, pieces, buffer, bytes, pe); !good) {
      return good;
    }
    const ReceiveView& view = receives_from(pe);
    if (receiving::outstanding(m_, view) == view.depth) {
      return fault(Operation::receive, Fault::receive_room, pe, address, bytes);
    }
    receiving::post(m_, view, buffer, pieces);
    return {};
  }
  // A receive without a buffer, for put_with_immediate and messages without bytes.
  GDAKIT_DEVICE Status post_receive(int pe) { return post_receive(nullptr, 0, pe); }

  // How many receives are posted whose messages were not taken out.
  GDAKIT_DEVICE std::uint64_t receives_posted(int pe) {
    return exists(pe) ? receiving::outstanding(m_, receives_from(pe)) : 0;
  }

  // The next message, if it has come: see Received::arrived.
  GDAKIT_DEVICE Received poll_receive(int pe) {
    if (!exists(pe)) return none(fault(Operation::receive, absent(pe), pe, 0, 0));
    return look_among(pe, pe + 1).received;
  }

  // Waits for it, for GDAKIT_WATCHDOG at most: then it returns StatusCode::stalled, and the message
  // may still come. That is a stall like any other: launch reports it, and until the next launch
  // later waits of this PE for words and messages give up at once, and other waits soon. A server
  // that may idle calls poll_receive in a loop of its own. Errors: no receive is posted.
  GDAKIT_DEVICE Received wait_receive(int pe) {
    if (!exists(pe)) return none(fault(Operation::receive, absent(pe), pe, 0, 0));
    return wait_among(pe, pe + 1);
  }

  // The next message of any PE that receives are posted for; PEs take turns.
  GDAKIT_DEVICE Received poll_receive_any() {
    return is_added() ? look_among(0, context_.n_pes).received : Received{};
  }
  GDAKIT_DEVICE Received wait_receive_any() {
    if (!is_added()) return none(fault(Operation::receive, Fault::no_channel, 0, 0, 0));
    return wait_among(0, context_.n_pes);
  }

 private:
  using Queue = SendQueue<M, SharedPublication, PostContext>;

  GDAKIT_DEVICE bool is_added() const { return number_ < channels_.count; }
  // To a PE that is none, or to which this one is not connected, there is no channel.
  GDAKIT_DEVICE bool exists(std::int32_t pe) const {
    return pe >= 0 && pe < context_.n_pes && is_added() && queue_to(pe).state != nullptr;
  }
  GDAKIT_DEVICE Fault absent(std::int32_t pe) const {
    if (pe < 0 || pe >= context_.n_pes) return Fault::no_pe;
    return is_added() ? Fault::not_connected : Fault::no_channel;
  }
  GDAKIT_DEVICE std::size_t place(std::int32_t pe) const {
    return std::size_t{number_} * static_cast<std::size_t>(context_.n_pes) +
           static_cast<std::size_t>(pe);
  }
  GDAKIT_DEVICE const QueueView& queue_to(std::int32_t pe) const {
    return channels_.queues[place(pe)];
  }
  GDAKIT_DEVICE const ReceiveView& receives_from(std::int32_t pe) const {
    return channels_.receives[place(pe)];
  }
  // Among all channels, as tickets and reports have it.
  GDAKIT_DEVICE std::uint32_t global_number() const { return channels_.first + number_; }
  GDAKIT_DEVICE std::uint32_t nic() const { return nic_of(context_.heap, global_number()); }
  template <std::uint32_t kMost>
  GDAKIT_DEVICE receiving::Pieces<kMost> cut(std::uint64_t address, std::uint64_t bytes) {
    return receiving::cut<kMost>(context_, memo_.addresses, nic(), address, bytes);
  }
  GDAKIT_DEVICE bool is_mine(const Ticket& ticket) const {
    return ticket.queue == global_number() && exists(ticket.peer);
  }

  GDAKIT_DEVICE Queue to(std::int32_t pe) {
    if (memo_.queue.peer != pe) remember(m_, memo_.queue, pe, queue_to(pe));
    return Queue(m_, post_context_, memo_.queue, global_number());
  }

  // Waits until all below `target` has completed and is visible at `pe`.
  GDAKIT_DEVICE Status complete(std::int32_t pe, std::uint64_t target) {
    const Status status = to(pe).wait(target);
    return status.ok() ? make_visible(pe) : status;
  }
  // As completing::make_visible has it. There are no gets: what is posted here writes here only
  // if it goes to the PE itself.
  GDAKIT_DEVICE Status make_visible(std::int32_t pe) {
    const QueueView& view = queue_to(pe);
    if (pe == context_.my_pe) {
      const Status here = completing::make_visible_here(m_, context_, view.state, true, nic());
      if (!here) return here;
    }
    if (context_.heap.nics <= 1 || completing::unflushed_there(m_, view.state) == 0) return {};
    if (is_lost(m_, context_.state, pe)) return {};
    const Ticket read = completing::read_there(m_, post_context_, &view, global_number(),
                                               first_byte(context_, pe, nic()));
    if (!read.status) return read.status;
    m_.fetch_max(order::FlushForOthers{}, &view.state->flushed_there, read.index);
    return {};
  }

  GDAKIT_DEVICE Status finish(const Ticket& ticket) {
    return ticket.index == 0 ? ticket.status : wait(ticket);
  }
  // The ticket of a call that has posted nothing. Where it was its batch's last one, what the batch
  // has left open is announced all the same.
  GDAKIT_DEVICE Ticket refused(Status status, std::int32_t pe, Batch batch) {
    if (batch == Batch::last && exists(pe)) {
      memo_.queue = QueueMemo{};
      close_open_batch<SharedPublication>(m_, post_context_, &queue_to(pe), global_number());
    }
    return {global_number(), status.peer, 0, status};
  }
  GDAKIT_DEVICE static Received none(Status status) {
    Received received;
    received.status = status;
    return received;
  }

  GDAKIT_DEVICE Status fault(Operation operation, Fault what, std::int32_t pe,
                             std::uint64_t address, std::uint64_t bytes) const {
    return report_fault(m_, context_, operation, what, pe, address, bytes);
  }
  GDAKIT_DEVICE Status check(Operation operation, const void* local, std::uint64_t bytes,
                             std::int32_t pe) const {
    const auto address = reinterpret_cast<std::uint64_t>(local);
    if (!exists(pe)) return fault(operation, absent(pe), pe, address, bytes);
    if (bytes <= context_.max_message_bytes) return {};
    return fault(operation, Fault::long_message, pe, address, bytes);
  }
  template <std::uint32_t kMost>
  GDAKIT_DEVICE Status check(Operation operation, const receiving::Pieces<kMost>& pieces,
                             const void* local, std::uint64_t bytes, std::int32_t pe) const {
    if (pieces.all_named && pieces.fits) return {};
    return fault(operation, pieces.all_named ? Fault::long_message : Fault::local_memory, pe,
                 reinterpret_cast<std::uint64_t>(local), bytes);
  }

  // Posts one WQE, together with the lanes that are in the same call.
  template <std::uint32_t kMost>
  GDAKIT_DEVICE Ticket post(const channels::Message& message,
                            const receiving::Pieces<kMost>& pieces, std::int32_t pe, Batch batch) {
    Queue queue = to(pe);
    const auto crew = form_crew(m_, queue, m_.active_mask(), pe, PostShape{}, true);
    return queue.post(crew, PostShape{}, batch, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
      channels::write_wqe(m_, queue.view(), at, fm_ce_se, message, pieces);
    });
  }

  // Where rma::Cutter looks addresses up.
  struct Addresses {
    const DeviceContext& context;
    HandleMemo& memo;
    std::uint32_t number;

    GDAKIT_DEVICE std::uint32_t nic() const { return number; }
  };

  // RDMA_WRITEs of all pieces, the last one of which is `last`.
  GDAKIT_DEVICE Ticket put(channels::Message last, void* remote, const void* local,
                           std::uint64_t bytes, std::int32_t pe, Batch batch) {
    const auto address = reinterpret_cast<std::uint64_t>(remote);
    if (!exists(pe)) {
      return refused(fault(Operation::send, absent(pe), pe, address, bytes), pe, batch);
    }
    rma::Cutter cutter(Addresses{context_, memo_, nic()}, remote, local, bytes, pe);
    if (!rma::is_registered(cutter)) {
      const bool there = is_in_heap(context_.heap, address, bytes);
      const Fault what = there ? Fault::local_memory : Fault::heap_memory;
      const std::uint64_t guilty = there ? reinterpret_cast<std::uint64_t>(local) : address;
      return refused(fault(Operation::send, what, pe, guilty, bytes), pe, batch);
    }
    for (;;) {
      receiving::Pieces<1> pieces;
      channels::Message message = last;
      if (!cutter.done()) {
        const rma::Piece piece = cutter.next();
        pieces.span[0] = {piece.local.address, piece.bytes, piece.local.key};
        pieces.count = 1;
        message.remote = piece.remote;
      }
      if (!cutter.done()) message.opcode = format::Opcode::rdma_write;
      const Ticket ticket = post(message, pieces, pe, cutter.done() ? batch : Batch::more);
      if (cutter.done() || !ticket.status) return ticket;
    }
  }

  // The next PE of [begin, end), round and round.
  GDAKIT_DEVICE std::int32_t next_peer(std::int32_t begin, std::int32_t end) {
    if (turn_ < begin || turn_ >= end) turn_ = begin;
    return turn_++;
  }

  // A message's bytes are visible where its CQE is, but on devices whose inbound writes are not
  // ordered by themselves. It is taken out once they are.
  GDAKIT_DEVICE Received take(const ReceiveView& view, const Received& received) {
    if (!received.arrived()) return received;
    if (context_.needs_cst) {
      if (const Status flushed = waiting::flush_here(m_, context_); !flushed) return none(flushed);
    }
    receiving::consume(m_, view);
    return received;
  }

  struct Look {
    Received received;        // the next message, or why none will come
    bool any_posted = false;  // receives
  };

  // Once to each PE in [begin, end) that receives are posted for.
  GDAKIT_DEVICE Look look_among(std::int32_t begin, std::int32_t end) {
    Look look;
    for (std::int32_t pe = begin; pe < end; ++pe) {
      const std::int32_t peer = next_peer(begin, end);
      if (receives_posted(peer) == 0) continue;
      const ReceiveView& view = receives_from(peer);
      look.any_posted = true;
      look.received = take(view, receiving::poll(m_, queue_to(peer), view));
      if (look.received.arrived() || !look.received.status) return look;
    }
    look.received.status = find_broken(begin, end, look.any_posted);
    return look;
  }

  // Why a channel to a PE in [begin, end) is broken: among those with receives, or among all.
  GDAKIT_DEVICE Status find_broken(std::int32_t begin, std::int32_t end, bool with_receives) {
    for (std::int32_t pe = begin; pe < end; ++pe) {
      if (with_receives ? receives_posted(pe) == 0 : !exists(pe)) continue;
      if (const Status status = queue_status(m_, queue_to(pe)); !status) return status;
    }
    return {};
  }

  GDAKIT_DEVICE Received wait_among(std::int32_t begin, std::int32_t end) {
    const WaitsForSender sender{begin, end};
    Watchdog<M, PostContext, WaitsForSender> watchdog(m_, post_context_, Site::message, sender);
    for (;;) {
      const Look look = look_among(begin, end);
      if (look.received.arrived() || !look.received.status) return look.received;
      if (!look.any_posted) return none(fault(Operation::receive, Fault::no_receive, begin, 0, 0));
      if (watchdog.turn()) continue;
      if (watchdog.lost_pe() >= 0) return none(lost_status(watchdog.lost_pe()));
      return none(stalled(begin, end, watchdog.waited_ns()));
    }
  }

  // Files a stall. It does not break the channel, for the message may still come.
  GDAKIT_DEVICE Status stalled(std::int32_t begin, std::int32_t end, std::uint64_t waited_ns) {
    const std::int32_t peer = end == begin + 1 ? begin : -1;
    while (!exists(begin)) ++begin;  // somebody is there, for receives are posted
    const ReceiveView& view = receives_from(begin);
    const std::uint64_t number = m_.load_weak(&view.state->consumed);
    const Stall stall{Site::message, peer, global_number(), waited_ns, number};
    report_stall(m_, context_, stall, [&](StallReport& report) {
      note(m_, &report.posted, m_.load_weak(&view.state->posted));
      note(m_, &report.completed, number);
      note(m_, &report.error, m_.load(order::RelaxedGpu{}, &queue_to(begin).state->error));
    });
    return {StatusCode::stalled, format::Syndrome::none, peer};
  }

  M& m_;
  const DeviceContext& context_;
  const PostContext post_context_;
  const Channels channels_;
  const std::uint32_t number_;
  std::int32_t turn_ = 0;  // the PE whose messages are looked for next
  HandleMemo memo_;
};

template <class M, class Group, class Publication>
GDAKIT_DEVICE Channel<M> Pe<M, Group, Publication>::channel(const Channels& channels,
                                                            std::uint32_t number) const {
  return {m_, context_, channels, number};
}

}  // namespace gdakit

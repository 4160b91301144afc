// Pe: what a kernel sees of its processing element. The public device API.
//
//   template <class Pe> GDAKIT_DEVICE void operator()(Pe& pe) const {
//     pe.put(destination, source, count, pe.n_pes() - 1);   // by this thread, blocking
//     pe.block().put_nbi(destination, source, count, 1);    // by the threads of the block together
//     pe.quiet();
//   }
//
// Addresses. A remote address is an address of the *symmetric heap* of the calling PE; the
// operation works on the object at the same offset on PE `pe`. Local buffers lie in the heap too,
// or in memory registered with Context::register_buffer.
//
// Direct peers. A PE whose heap this PE's threads can load from and store to is served so, without
// the NIC, where GDAKIT_TRANSPORT says so. When a call has returned, its source may be reused, or
// its result is there; that a put is seen before what follows it takes fence or quiet. Atomics and
// signals go that way only if every PE of the job reaches that heap: a NIC's atomics and a
// processor's are not atomic with each other. Direct operations are ordered as OpenSHMEM has it:
// puts and atomics without a result in no order but by fence, quiet and the barriers; signals
// (signal, put_signal) behind all that the thread did before to that PE; get_value, a get of one
// word (1, 2, 4 or 8 bytes, aligned on both sides) and fetching atomics before all that the thread
// reads later, a get of more only where fence or quiet follows it. A kernel that is to run on
// either transport relies on no more. What quiet and barriers have completed through the NIC is
// visible to the PE it went to, and through the NIC to all. Who reaches that PE's memory directly
// sees it, too, where an acknowledge says that it is written: on memory with relaxed ordering, for
// which gdakit does not ask, it does not. Channels go by the NIC in any job: where all PEs are
// direct peers, what they put wants their own messages to tell of it (docs/direct-peers.md). What
// follows is of the NIC.
//
// Ordering. What a thread posts on one queue to one PE takes effect there in the order of the
// calls, by whichever handles of that queue: a Pe, its warp() and block(), on_queue of its number.
// So do the operations of several threads on one queue to one PE, if the threads order their calls
// (by a barrier of the block, or a word with release and acquire). A get_nbi is ordered before a
// later put by wait or quiet only. Nothing orders operations on different queues, or to different
// PEs, but quiet and the barriers; fence does not. put_signal's signal becomes visible after its
// data, and after all earlier puts of the same thread on that queue to the same PE. Fetching
// operations (get, get_value, atomic_fetch_*) return what earlier operations of the same thread on
// that queue to that PE left there.
//
// Several NICs (GDAKIT_NICS_PER_PE). Queue q goes by NIC q modulo their number, at both ends, but
// what changes words there, atomics and signals, always by the first one, because the atomics of
// two NICs are not atomic with each other. For a handle whose queue is of another NIC they are on a
// queue of their own, to which what is said above of one queue does not apply: put_signal and
// signal wait until what the handle posted to that PE before has completed, fence waits as quiet
// does, and between other atomics and puts or gets nothing but these keeps an order.
//
// Puts in any order (GDAKIT_PLACEMENT=any). Where the network brings bytes as they come, a put may
// take effect before an earlier put or atomic, the bytes of one put do so in any order, and of two
// puts to the same bytes the first may stay. What is kept: a signal, an atomic and a get take
// effect behind everything that was posted before them on that queue to that PE, so put_signal
// promises what it does elsewhere; and fence waits as quiet does, so that it orders puts as well.
//
// Plain stores. What a thread has stored to its own heap another PE finds there when it gets it, if
// it was told of it by a signal, put_signal, a collective, a barrier or a lock that came behind the
// stores. quiet and fence speak of what was posted, not of such stores.
//
// Batches. The doorbell of a call with Batch::more may wait for a later call on the same queue to
// the same PE. The first one that does not say Batch::more ends the batch, whatever becomes of that
// call itself: it may move nothing, be refused, or go directly. wait and quiet end it, too.
//
// Completion. A blocking call returns when its source may be reused (puts) or its result is there
// (gets, fetching atomics). put_nbi and atomics without a result return at once and complete by
// quiet; async calls return a Ticket to wait for or test.
//
// Errors. Nothing throws or ends the program. Calls return a Status; a queue that saw an error CQE
// refuses later posts, quiet reports it, and so does Context::launch when the kernel has ended,
// even if the kernel looked at no Status at all. The handle of an exclusive queue looks for an
// error when a post rings and when it waits; a post with Batch::more is refused once it knows.
//
// Channels. Two-sided operations, and puts with an immediate, stand in channel.h.
//
// Where the calls stand: pe_rma.h (put, get, strided, put_signal), pe_words.h (wait_until, test,
// signals), pe_atomics.h, lock.h (set_lock, ...), and here those that complete and order.
//
// Source: OpenSHMEM 1.5 chapter 9 for the semantics of the operations.
#pragma once

#include "device/channel_views.h"
#include "device/lock.h"
#include "device/pe_atomics.h"
#include "device/pe_rma.h"
#include "device/pe_words.h"
#include "device/quiet.h"
#include "device/team_handle.h"

namespace gdakit {

template <class M>
class Channel;

template <class M, class Group = ThreadGroup, class Publication = SharedPublication>
class Pe : public RmaCalls<Pe<M, Group, Publication>, Group>,
           public WordCalls<Pe<M, Group, Publication>, Group>,
           public AtomicCalls<Pe<M, Group, Publication>>,
           public LockCalls<Pe<M, Group, Publication>, Group> {
  using OfWords = WordCalls<Pe, Group>;

 public:
  using Machine = M;

  // `context` must outlive the Pe. Threads are spread over the mapped queues by their block.
  GDAKIT_DEVICE Pe(M& m, const DeviceContext& context)
      : Pe(m, context, queue_of_block(context.mapped_queues, m.block_index()), true) {}

  GDAKIT_DEVICE int my_pe() const { return context_.my_pe; }
  GDAKIT_DEVICE int n_pes() const { return context_.n_pes; }

  // Who calls: the thread's number in its block and how many threads a block has, the block's
  // number and how many blocks the launch has, the thread's warp in its block and its lane there.
  GDAKIT_DEVICE std::uint32_t thread_index() const { return m_.thread_index(); }
  GDAKIT_DEVICE std::uint32_t block_threads() const { return m_.block_threads(); }
  GDAKIT_DEVICE std::uint32_t block_index() const { return m_.block_index(); }
  GDAKIT_DEVICE std::uint32_t grid_blocks() const { return m_.grid_blocks(); }
  GDAKIT_DEVICE std::uint32_t warp_index() const { return m_.warp(); }
  GDAKIT_DEVICE std::uint32_t lane() const { return m_.lane(); }

  GDAKIT_DEVICE M& machine() { return m_; }
  GDAKIT_DEVICE const DeviceContext& context() const { return context_; }

  // The address at which this PE's threads load from and store to what lies at `symmetric` on
  // another PE, or null: that PE is no direct peer, or the address is none of the heap. This PE's
  // own is `symmetric` itself. Stores through it are ordered as direct puts are. Not collective.
  // Source: OpenSHMEM 1.5 section 9.3.4, shmem_ptr.
  template <class T>
  GDAKIT_DEVICE T* ptr(T* symmetric, int pe) const {
    if (!is_in_heap(context_.heap, reinterpret_cast<std::uint64_t>(symmetric), 1)) {
      return nullptr;
    }
    if (pe == my_pe()) return symmetric;
    const std::uint64_t* const bases = context_.heap.direct_bases;
    if (bases == nullptr || pe < 0 || pe >= n_pes() || bases[pe] == 0) return nullptr;
    return direct::at(context_.heap, bases[pe], symmetric);
  }

  // The same PE for calls that all lanes of a warp, or all threads of a block, make together. Such
  // a call covers what any thread of the group stored before it.
  GDAKIT_DEVICE Pe<M, WarpGroup, Publication> warp() const {
    return {m_, context_, queue_, is_mapped_};
  }
  GDAKIT_DEVICE Pe<M, BlockGroup, Publication> block() const {
    return {m_, context_, queue_, is_mapped_};
  }

  // The same PE posting on queue `queue` to each peer (0 .. DeviceContext::queue_count - 1) in
  // place of the one its block is mapped to. `exclusively_on` is for queues made with
  // Sharing::exclusive, which are posted to without a single atomic: by one thread at a time, be it
  // the only one, or the one that acts for a warp() or block(). Threads that call for themselves
  // must not share such a queue. Its tickets are waited for, and its open batches closed, by this
  // same handle, which remembers where the queue stands: keep one for many posts, and use no other
  // of that queue before the last use of this one. A post that rings and finds that somebody else
  // has posted meanwhile returns StatusCode::invalid_argument, and so do later ones of this handle,
  // until one that is empty, refused or in several pieces has it look anew where the queue stands;
  // a WQE, the handle's own or the other one's, may be void then.
  GDAKIT_DEVICE Pe<M, Group, SharedPublication> on_queue(std::uint32_t queue) const {
    return {m_, context_, queue, queue < context_.mapped_queues.count};
  }
  GDAKIT_DEVICE Pe<M, Group, ExclusivePublication> exclusively_on(std::uint32_t queue) const {
    return {m_, context_, queue, false};
  }

  // Channels to all PEs, for sends, receives and immediates (channel.h): number `number` of those
  // that Context::add_channels has made.
  GDAKIT_DEVICE Channel<M> channel(const Channels& channels, std::uint32_t number = 0) const;

  // ---- Completion and order.

  // Waits for one posted operation, and for what was posted on its queue before it. A ticket of a
  // refused post returns its own status. All threads of a group get the same answer.
  GDAKIT_DEVICE Status wait(const Ticket& ticket) {
    return look_closer(poster(), [=](const auto& poster) {
      return by_one(poster.m, Group{},
                    [&] {
                      Ticket waited = ticket;
                      waited.status = completing::wait(poster, ticket);
                      return waited;
                    })
          .status;
    });
  }
  using OfWords::test;
  // Whether it is done, well or not; *status says which. What is done is then made visible as wait
  // does it, for which GPUs before Hopper and PEs with several NICs take a round trip. Does not
  // close an open batch. By a single thread, whatever the group.
  GDAKIT_DEVICE bool test(const Ticket& ticket, Status* status = nullptr) {
    Status found;
    const bool done = completing::test(poster(), ticket, &found);
    give(status, found);
    return done;
  }

  // Completes all that this PE posted before, on every queue: delivered and visible at its
  // destination. What a group's threads return is the same for all of them: ok, or the Status of
  // the first queue, by its number and then by the PE at its other end, that is broken, be it since
  // this call or since an earlier one. A single thread returns the first failure it came upon in
  // that order.
  GDAKIT_DEVICE Status quiet() { return gdakit::quiet(poster(), Group{}); }
  // Orders this thread's earlier puts and atomics on this handle's queue to each PE before its
  // later ones on that queue to it. Free without direct peers, with them a fence of the processor;
  // as dear as quiet where a PE gets puts directly and atomics through the NIC, where the two take
  // queues of different NICs, or where puts arrive in any order. What a thread did by handles of
  // other queues is ordered by quiet.
  GDAKIT_DEVICE Status fence() { return gdakit::fence(poster(), Group{}); }
  // All PEs meet. One group of each PE calls at a time, and the same number of times on all.
  // barrier_all also completes what this PE posted, before it tells the others.
  GDAKIT_DEVICE Status barrier_all() {
    auto world = team(kTeamWorld);
    if (Status met; world.sync_directly(true, &met)) return met;
    const Status quieted = quiet();
    const Status met = world.sync(true);
    return quieted.ok() ? met : quieted;
  }
  GDAKIT_DEVICE Status sync_all() { return team(kTeamWorld).sync(); }

  // What this group of threads does with a team: collectives, numbers.
  GDAKIT_DEVICE TeamHandle<M, Group> team(Team which) const { return {m_, context_, which}; }

 private:
  template <class, class, class>
  friend class Pe;
  friend RmaCalls<Pe, Group>;
  friend OfWords;
  friend AtomicCalls<Pe>;
  friend LockCalls<Pe, Group>;

  GDAKIT_DEVICE Pe(M& m, const DeviceContext& context, std::uint32_t queue, bool is_mapped)
      : m_(m), context_(context), queue_(queue), is_mapped_(is_mapped) {}

  // Waits for what the group has just posted, whose ticket all its threads know.
  GDAKIT_DEVICE Status finish(const Ticket& ticket) {
    return ticket.index == 0 ? ticket.status : wait(ticket);
  }

  GDAKIT_DEVICE Poster<M, Publication> poster() {
    // For a group now this thread acts, now another: what one remembers the others do not know.
    if constexpr (!std::is_same_v<Group, ThreadGroup>) memo_.queue.peer = QueueMemo::kNobody;
    return {m_, context_, queue_, memo_, is_mapped_};
  }

  M& m_;
  const DeviceContext& context_;
  std::uint32_t queue_;
  bool is_mapped_;  // it is one of those among which threads are spread; these are shared
  HandleMemo memo_;
};

}  // namespace gdakit

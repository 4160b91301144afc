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
// Ordering. A thread's operations to one PE stay on one queue and take effect there in the order of
// the calls. So do the operations of several threads on one queue to one PE, if the threads order
// their calls (by a barrier of the block, or a word with release and acquire). A get_nbi is ordered
// before a later put by wait or quiet only. Nothing orders operations on different queues, or to
// different PEs, but quiet and the barriers. put_signal's signal becomes visible after its data,
// and after all earlier puts of the same thread to the same PE. Fetching operations (get,
// get_value, atomic_fetch_*) return what earlier operations of the same thread to that PE left
// there.
//
// Completion. A blocking call returns when its source may be reused (puts) or its result is there
// (gets, fetching atomics). put_nbi and atomics without a result return at once and complete by
// quiet; async calls return a Ticket to wait for or test.
//
// Errors. Nothing throws or ends the program. Calls return a Status; a queue that saw an error CQE
// refuses later posts, quiet reports it, and so does Context::launch when the kernel has ended,
// even if the kernel looked at no Status at all.
//
// Source: OpenSHMEM 1.5 chapter 9 for the semantics of the operations.
#pragma once

#include "device/quiet.h"
#include "device/signal.h"

namespace gdakit {

template <class M, class Group = ThreadGroup, class Publication = SharedPublication>
class Pe {
 public:
  using Machine = M;

  // `context` must outlive the Pe. Threads are spread over the mapped queues by their block.
  GDAKIT_DEVICE Pe(M& m, const DeviceContext& context)
      : Pe(m, context, m.block_index() % context.mapped_queues) {}

  GDAKIT_DEVICE int my_pe() const { return context_.my_pe; }
  GDAKIT_DEVICE int n_pes() const { return context_.n_pes; }
  GDAKIT_DEVICE M& machine() { return m_; }
  GDAKIT_DEVICE const DeviceContext& context() const { return context_; }

  // The same PE for calls that all lanes of a warp, or all threads of a block, make together. Such
  // a call covers what any thread of the group stored before it.
  GDAKIT_DEVICE Pe<M, WarpGroup, Publication> warp() const { return {m_, context_, queue_}; }
  GDAKIT_DEVICE Pe<M, BlockGroup, Publication> block() const { return {m_, context_, queue_}; }

  // The same PE posting on queue `queue` to each peer (0 .. DeviceContext::queue_count - 1) in
  // place of the one its block is mapped to. `exclusively_on` is for queues made with
  // Sharing::exclusive, which are posted to without a single atomic: by one thread at a time, be it
  // the only one, or the one that acts for a warp() or block(). Threads that call for themselves
  // must not share such a queue. Its tickets are waited for, and its open batches closed, by this
  // same handle, which remembers where the queue stands: keep one for many posts, and use no other
  // of that queue before the last use of this one. A post that finds that somebody else has posted
  // meanwhile returns StatusCode::invalid_argument, and its WQE may be void.
  GDAKIT_DEVICE Pe<M, Group, SharedPublication> on_queue(std::uint32_t queue) const {
    return {m_, context_, queue};
  }
  GDAKIT_DEVICE Pe<M, Group, ExclusivePublication> exclusively_on(std::uint32_t queue) const {
    return {m_, context_, queue};
  }

  // ---- Put and get. `count` elements of T; source and destination must not overlap.

  template <class T>
  GDAKIT_DEVICE Status put(T* remote, const T* local, std::size_t count, int pe) {
    return wait(put_async(remote, local, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status put_nbi(T* remote, const T* local, std::size_t count, int pe,
                               Batch batch = Batch::last) {
    return put_async(remote, local, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_async(T* remote, const T* local, std::size_t count, int pe,
                                 Batch batch = Batch::last) {
    return rma::post(poster(), Group{}, rma::kPut, remote, local, bytes_of<T>(count), pe, batch);
  }

  template <class T>
  GDAKIT_DEVICE Status get(T* local, const T* remote, std::size_t count, int pe) {
    return wait(get_async(local, remote, count, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status get_nbi(T* local, const T* remote, std::size_t count, int pe,
                               Batch batch = Batch::last) {
    return get_async(local, remote, count, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket get_async(T* local, const T* remote, std::size_t count, int pe,
                                 Batch batch = Batch::last) {
    return rma::post(poster(), Group{}, rma::kGet, remote, local, bytes_of<T>(count), pe, batch);
  }

  // One value of 1, 2, 4 or 8 bytes. A put travels inside the WQE: its source may be reused at
  // once. Calls of single threads, whatever the group.
  template <class T>
  GDAKIT_DEVICE Status put_value(T* remote, std::type_identity_t<T> value, int pe,
                                 Batch batch = Batch::last) {
    return rma::post_value(poster(), remote, value, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE T get_value(const T* remote, int pe, Status* status = nullptr) {
    T value{};
    give(status, rma::get_value(poster(), remote, pe, &value));
    return value;
  }

  // ---- Signals: 64-bit words of the symmetric heap, changed only by these calls.

  template <class T>
  GDAKIT_DEVICE Status put_signal(T* remote, const T* local, std::size_t count, std::uint64_t* word,
                                  std::uint64_t value, SignalOp op, int pe) {
    return wait(put_signal_async(remote, local, count, word, value, op, pe));
  }
  template <class T>
  GDAKIT_DEVICE Status put_signal_nbi(T* remote, const T* local, std::size_t count,
                                      std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                                      Batch batch = Batch::last) {
    return put_signal_async(remote, local, count, word, value, op, pe, batch).status;
  }
  template <class T>
  GDAKIT_DEVICE Ticket put_signal_async(T* remote, const T* local, std::size_t count,
                                        std::uint64_t* word, std::uint64_t value, SignalOp op,
                                        int pe, Batch batch = Batch::last) {
    return signal::post(poster(), Group{}, remote, local, bytes_of<T>(count), word, value, op, pe,
                        batch);
  }
  // The signal alone; by a single thread, whatever the group.
  GDAKIT_DEVICE Status signal(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                              Batch batch = Batch::last) {
    return atomics::post(poster(), word, signal::request(op, value), pe, batch).status;
  }

  // ---- Waiting for words of this PE that others write. T has 1, 2, 4 or 8 bytes.
  //
  // Data put before the word was written is visible once a call says that the word's comparison
  // holds. `skip`, of `count` entries, may be null; words whose entry is not 0 are left out. A wait
  // for no word at all returns at once.

  template <class T>
  GDAKIT_DEVICE Status wait_until(const T* word, Compare compare, std::type_identity_t<T> value) {
    return wait_until_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  GDAKIT_DEVICE Status wait_until_all(const T* words, std::size_t count, const int* skip,
                                      Compare compare, std::type_identity_t<T> value) {
    const waiting::Words<T> all{words, count, skip, compare, value};
    return waiting::until(poster(), all,
                          [&] { return waiting::find(m_, all, false) == waiting::kNoWord; });
  }
  // Sets *index to a word whose comparison holds; to ~0 when there is no word to wait for.
  template <class T>
  GDAKIT_DEVICE Status wait_until_any(const T* words, std::size_t count, const int* skip,
                                      Compare compare, std::type_identity_t<T> value,
                                      std::size_t* index) {
    const waiting::Words<T> all{words, count, skip, compare, value};
    *index = waiting::kNoWord;
    if (waiting::is_empty(m_, all)) return {};
    return waiting::until(poster(), all, [&] {
      *index = waiting::find(m_, all, true);
      return *index != waiting::kNoWord;
    });
  }
  // Waits for at least one; writes the indices of all whose comparison holds, and how many they
  // are.
  template <class T>
  GDAKIT_DEVICE Status wait_until_some(const T* words, std::size_t count, const int* skip,
                                       Compare compare, std::type_identity_t<T> value,
                                       std::size_t* indices, std::size_t* found) {
    const waiting::Words<T> all{words, count, skip, compare, value};
    *found = 0;
    if (waiting::is_empty(m_, all)) return {};
    return waiting::until(poster(), all,
                          [&] { return (*found = waiting::collect(m_, all, indices)) != 0; });
  }
  // The same questions without waiting.
  template <class T>
  GDAKIT_DEVICE bool test(const T* word, Compare compare, std::type_identity_t<T> value) {
    return test_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  GDAKIT_DEVICE bool test_all(const T* words, std::size_t count, const int* skip, Compare compare,
                              std::type_identity_t<T> value) {
    const waiting::Words<T> all{words, count, skip, compare, value};
    return waiting::find(m_, all, false) == waiting::kNoWord && waiting::see_data(poster()).ok();
  }
  // A word whose comparison holds, or ~0.
  template <class T>
  GDAKIT_DEVICE std::size_t test_any(const T* words, std::size_t count, const int* skip,
                                     Compare compare, std::type_identity_t<T> value) {
    const std::size_t index =
        waiting::find(m_, waiting::Words<T>{words, count, skip, compare, value}, true);
    if (index != waiting::kNoWord && !waiting::see_data(poster())) return waiting::kNoWord;
    return index;
  }
  // How many comparisons hold; their indices.
  template <class T>
  GDAKIT_DEVICE std::size_t test_some(const T* words, std::size_t count, const int* skip,
                                      Compare compare, std::type_identity_t<T> value,
                                      std::size_t* indices) {
    const std::size_t found =
        waiting::collect(m_, waiting::Words<T>{words, count, skip, compare, value}, indices);
    return found != 0 && !waiting::see_data(poster()) ? 0 : found;
  }

  // ---- Atomics on words of 4 or 8 bytes, naturally aligned. By single threads, whatever the
  // group.
  //
  // They are atomic among themselves and the other NIC operations on that word. Those without
  // `fetch` in their name return at once.

  template <class T>
  GDAKIT_DEVICE Status atomic_add(T* remote, std::type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    static_assert(std::is_integral_v<T>);
    return change(remote, atomics::Op::add, value, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_inc(T* remote, int pe, Batch batch = Batch::last) {
    return atomic_add(remote, T{1}, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_set(T* remote, std::type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    return change(remote, atomics::Op::set, value, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_and(T* remote, std::type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    static_assert(std::is_integral_v<T>);
    return change(remote, atomics::Op::bit_and, value, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_or(T* remote, std::type_identity_t<T> value, int pe,
                                 Batch batch = Batch::last) {
    static_assert(std::is_integral_v<T>);
    return change(remote, atomics::Op::bit_or, value, pe, batch);
  }
  template <class T>
  GDAKIT_DEVICE Status atomic_xor(T* remote, std::type_identity_t<T> value, int pe,
                                  Batch batch = Batch::last) {
    static_assert(std::is_integral_v<T>);
    return change(remote, atomics::Op::bit_xor, value, pe, batch);
  }

  // These return the old value; T{} when *status is not ok.
  template <class T>
  GDAKIT_DEVICE T atomic_fetch(const T* remote, int pe, Status* status = nullptr) {
    return exchange(remote, atomics::Request{atomics::Op::add, 0}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_add(T* remote, std::type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    static_assert(std::is_integral_v<T>);
    return exchange(remote, atomics::Request{atomics::Op::add, widen_bits(value)}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_inc(T* remote, int pe, Status* status = nullptr) {
    return atomic_fetch_add(remote, T{1}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_swap(T* remote, std::type_identity_t<T> value, int pe,
                              Status* status = nullptr) {
    return exchange(remote, atomics::Request{atomics::Op::set, widen_bits(value)}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_compare_swap(T* remote, std::type_identity_t<T> expected,
                                      std::type_identity_t<T> desired, int pe,
                                      Status* status = nullptr) {
    static_assert(std::is_integral_v<T>);
    return exchange(
        remote,
        atomics::Request{atomics::Op::compare_swap, widen_bits(desired), widen_bits(expected)}, pe,
        status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_and(T* remote, std::type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    static_assert(std::is_integral_v<T>);
    return exchange(remote, atomics::Request{atomics::Op::bit_and, widen_bits(value)}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_or(T* remote, std::type_identity_t<T> value, int pe,
                                  Status* status = nullptr) {
    static_assert(std::is_integral_v<T>);
    return exchange(remote, atomics::Request{atomics::Op::bit_or, widen_bits(value)}, pe, status);
  }
  template <class T>
  GDAKIT_DEVICE T atomic_fetch_xor(T* remote, std::type_identity_t<T> value, int pe,
                                   Status* status = nullptr) {
    static_assert(std::is_integral_v<T>);
    return exchange(remote, atomics::Request{atomics::Op::bit_xor, widen_bits(value)}, pe, status);
  }

  // ---- Completion and order.

  // Waits for one posted operation, and for what was posted on its queue before it. A ticket of a
  // refused post returns its own status. All threads of a group get the same answer.
  GDAKIT_DEVICE Status wait(const Ticket& ticket) {
    return by_one(m_, Group{},
                  [&] {
                    Ticket waited = ticket;
                    waited.status = completing::wait(poster(), ticket);
                    return waited;
                  })
        .status;
  }
  // Whether it is done, well or not, without waiting; *status says which. Does not close an open
  // batch. By a single thread, whatever the group.
  GDAKIT_DEVICE bool test(const Ticket& ticket, Status* status = nullptr) {
    Status found;
    const bool done = completing::test(poster(), ticket, &found);
    give(status, found);
    return done;
  }

  // Completes all that this PE posted before, on every queue: delivered and visible at its
  // destination.
  GDAKIT_DEVICE Status quiet() { return gdakit::quiet(poster(), Group{}); }
  // Orders this thread's earlier puts and atomics to each PE before its later ones to it. Free.
  GDAKIT_DEVICE Status fence() { return gdakit::fence(m_, context_, Group{}); }
  // All PEs meet. One group of each PE calls at a time, and the same number of times on all.
  // barrier_all also completes what this PE posted, before it tells the others.
  GDAKIT_DEVICE Status barrier_all() { return gdakit::barrier_all(poster(), Group{}); }
  GDAKIT_DEVICE Status sync_all() { return gdakit::sync_all(poster(), Group{}); }

 private:
  template <class, class, class>
  friend class Pe;

  GDAKIT_DEVICE Pe(M& m, const DeviceContext& context, std::uint32_t queue)
      : m_(m), context_(context), queue_(queue) {}

  GDAKIT_DEVICE Poster<M, Publication> poster() {
    // For a group now this thread acts, now another: what one remembers the others do not know.
    if constexpr (!std::is_same_v<Group, ThreadGroup>) memo_.queue.peer = QueueMemo::kNobody;
    return {m_, context_, queue_, memo_};
  }

  // ~0, which no registered memory holds, where the size does not fit.
  template <class T>
  GDAKIT_DEVICE static constexpr std::uint64_t bytes_of(std::size_t count) {
    return count > ~std::uint64_t{0} / sizeof(T) ? ~std::uint64_t{0} : count * sizeof(T);
  }

  template <class T>
  GDAKIT_DEVICE Status change(T* remote, atomics::Op op, T value, int pe, Batch batch) {
    return atomics::post(poster(), remote, atomics::Request{op, widen_bits(value)}, pe, batch)
        .status;
  }

  template <class T>
  GDAKIT_DEVICE T exchange(const T* remote, const atomics::Request& request, int pe,
                           Status* status) {
    T old{};
    give(status, atomics::fetch(poster(), remote, request, pe, &old));
    return old;
  }

  GDAKIT_DEVICE static void give(Status* out, Status status) {
    if (out != nullptr) *out = status;
  }

  M& m_;
  const DeviceContext& context_;
  std::uint32_t queue_;
  HandleMemo memo_;
};

}  // namespace gdakit

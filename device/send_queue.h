// Posting WQEs and waiting for them: reserve, write, publish, ring; poll, wait, test.
#pragma once

#include "device/completion.h"
#include "device/crew.h"
#include "device/publication.h"
#include "device/watchdog.h"
#include "device/wqe_writer.h"

namespace gdakit {

// What a crew posts. Each lane writes `cells` cells (cells.h); behind the last lane's stands a WQE
// of one cell where the post needs one: a DUMP that flushes what the NIC wrote here, or, because a
// CQE names the first WQEBB of its WQE, a NOP behind a longer WQE.
struct PostShape {
  enum class Tail : std::uint8_t { none, nop, dump };

  std::uint32_t cells = 1;
  Tail tail = Tail::none;

  GDAKIT_HOST_DEVICE constexpr std::uint32_t total(std::uint32_t lanes) const {
    return cells * lanes + (tail == Tail::none ? 0 : 1);
  }
};

// Whether a doorbell may wait for a later post of the same queue.
enum class Batch : std::uint8_t {
  last,  // ring now
  more,  // more to come: the doorbell and the CQE may wait for the batch's last call, or for wait
         // and quiet (batch_end.h)
};

// A thread's way to one queue. `Context` is a DeviceContext, or what posting and waiting need of it
// (batch_end.h).
template <class M, class Publication, class Context = DeviceContext>
class SendQueue {
 public:
  static constexpr Sharing sharing = Publication::sharing;

  // `memo` is what a handle remembers of the queue (remember() in handle_memo.h).
  GDAKIT_DEVICE SendQueue(M& m, const Context& context, QueueMemo& memo, std::uint32_t index)
      : m_(m), context_(context), memo_(memo), index_(index) {}
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  GDAKIT_DEVICE const QueueView& view() const { return memo_.view; }
  GDAKIT_DEVICE const Context& context() const { return context_; }
  // Among the queues to its peer.
  GDAKIT_DEVICE std::uint32_t index() const { return index_; }

  // The most cells that one post may take. Larger ones could wait for room behind WQEs that no
  // doorbell has announced yet.
  GDAKIT_DEVICE std::uint32_t max_post() const { return view().depth / 2 >> log_cell(view()); }

  // Posts for all lanes of `crew`, each of which calls. `write(index, fm_ce_se)` writes the calling
  // lane's WQEs from slot `index` on; the last of them carries `fm_ce_se`.
  template <class AnyCrew, class Write>
  GDAKIT_DEVICE Ticket post(const AnyCrew& crew, PostShape shape, Batch batch, Write&& write) {
    const std::uint32_t total = shape.total(crew.size()) << log_cell(view());
    const bool rings = any_rings(crew, batch);
    if (rings && crew.leads()) Publication::look(m_, memo_);
    std::uint64_t base = 0;
    if (crew.leads()) {
      base = Publication::reserve(
          m_, memo_, total, [&](std::uint64_t end) { return wait_for_room(end - total, end); });
    }
    if (crew.size() > 1) base = m_.shuffle(crew.mask, base, crew.leader());
    if (crew.size() > 1) m_.sync_warp(crew.mask);  // what the leader saw, all may rely on
    if (base == kNoSlots) return failed(refusal());
    // A WQE at each quarter of the ring is always completed and rung for: so room always comes.
    const bool more = !rings && !crosses_quarter(base, total);
    if (!rings && !more && crew.leads()) Publication::look(m_, memo_);
    if (crew.leads()) Publication::claim(m_, memo_, base, total);
    // Before the lanes meet: any of them may be the one that ends the batch (batch_end.h).
    if (more && crew.leads()) {
      m_.fetch_max(order::RelaxedGpu{}, &view().state->open_until, base + total);
    }
    write_crew(crew, shape, more, base, write);
    if (crew.size() > 1) m_.sync_warp(crew.mask);
    const bool published = !crew.leads() || Publication::publish(m_, memo_, base, total, more);
    if (crew.size() > 1) m_.sync_warp(crew.mask);  // who came together meets again in the next call
    if (!published) return failed(refusal());
    return {index_, view().peer, base + total, {}};
  }

  // Posts a NOP that asks for a completion: closes a batch.
  GDAKIT_DEVICE Ticket post_nop() {
    return post(LoneThread{}, {}, Batch::last, [this](std::uint64_t at, std::uint8_t fm_ce_se) {
      write_nop(m_, view(), at, fm_ce_se);
    });
  }

  // Waits until all below `target` has completed. A batch that is still open is closed, which
  // posts: on an exclusive queue that is for its owner alone.
  GDAKIT_DEVICE Status wait(std::uint64_t target) {
    bool closed = false;
    return wait(target, [&] {
      if (closed || !tail_is_open(target)) return Status{};
      closed = true;
      return post_nop().status;
    });
  }

  // The same for a target that was announced, and posts nothing.
  GDAKIT_DEVICE Status wait_announced(std::uint64_t target) {
    return wait(target, [] { return Status{}; });
  }

  GDAKIT_DEVICE std::uint64_t reserved() {
    return m_.load(order::RelaxedGpu{}, &view().state->reserved);
  }

  // Everything below is announced to the NIC, or in its poster's next steps, and ends in a WQE that
  // asks for a completion.
  GDAKIT_DEVICE std::uint64_t posted() {
    return m_.load(order::RelaxedGpu{}, &view().state->posted);
  }

  // Whether a batch may stand open that was not announced.
  GDAKIT_DEVICE bool is_open() {
    return m_.load(order::RelaxedGpu{}, &view().state->open_until) > posted();
  }

  // Why a post was refused; never ok. A healthy queue refuses only one who posts to an exclusive
  // queue that somebody else has posted to meanwhile.
  GDAKIT_DEVICE Status refusal() {
    const Status status = health();
    return status.ok()
               ? report_fault(m_, context_, Operation::none, Fault::foreign_post, view().peer, 0, 0)
               : status;
  }

  GDAKIT_DEVICE Ticket failed(Status status) const { return {index_, view().peer, 0, status}; }

  // Files a stall at this queue and breaks it: the thread leaves slots or waits behind that nobody
  // will take up, and the other threads shall not wait as long again.
  GDAKIT_DEVICE Status stalled(Site site, std::uint64_t target, std::uint64_t waited_ns) {
    const Stall stall{site, view().peer, index_, waited_ns, target};
    report_stall(m_, context_, stall, [this](StallReport& report) {
      const QueueState* const state = view().state;
      const std::uint64_t posted_now = posted();
      note(m_, &report.reserved, reserved());
      note(m_, &report.posted, posted_now);
      note(m_, &report.ready, ready_for_report(posted_now));
      note(m_, &report.doorbell_record, record_for_report(posted_now));
      note(m_, &report.completed, m_.load(order::RelaxedGpu{}, &state->completed));
      note(m_, &report.cqe_tail, m_.load(order::RelaxedNic{}, &view().cqe[kCqeTailWord]));
      note(m_, &report.error, m_.load(order::RelaxedGpu{}, &state->error));
    });
    m_.compare_exchange(order::RelaxedGpu{}, &view().state->error, std::uint64_t{0},
                        QueueError::abandoned().word);
    return health();
  }

 private:
  // When a thread looks at a CQE that lies in the host's memory: ever more seldom, because
  // thousands may wait, and would keep the host from it. Costs an eighth of the wait at most.
  class Looks {
   public:
    GDAKIT_DEVICE bool due() {
      if (turns_++ < next_) return false;
      next_ = turns_ + turns_ / 8;
      return true;
    }

   private:
    std::uint64_t turns_ = 0;
    std::uint64_t next_ = 0;
  };

  // ok, or why the queue is broken; the handle then knows, and refuses batches (publication.h).
  GDAKIT_DEVICE Status health() {
    const Status status = queue_status(m_, view());
    if (!status) memo_.error = QueueError::kBroken;
    return status;
  }

  // Calls `meanwhile` on each turn, and gives up if it fails.
  template <class Meanwhile>
  GDAKIT_DEVICE Status wait(std::uint64_t target, Meanwhile&& meanwhile) {
    if (memo_.completed >= target) return {};
    if (cached_completion() >= target) return {};
    Watchdog<M, Context> watchdog(m_, context_, Site::queue_completion);
    Looks looks;
    while (look_for(target, looks) < target) {
      if (Status status = health(); !status) return status;
      if (Status status = meanwhile(); !status) return status;
      if (!watchdog.turn()) return stalled(Site::queue_completion, target, watchdog.waited_ns());
    }
    return {};
  }

  // Who waits for what has no room yet leaves the CQE to those who wait for room.
  GDAKIT_DEVICE std::uint64_t look_for(std::uint64_t target, Looks& looks) {
    const bool has_room = target <= memo_.completed + view().depth;
    const bool looks_now = view().handler == Handler::gpu || looks.due();
    return has_room && looks_now ? poll() : cached_completion();
  }

  // Looks at the index that other threads have seen. Returns what the handle now knows.
  GDAKIT_DEVICE std::uint64_t cached_completion() {
    memo_.completed = m_.load(order::SlotFreeBeforeReuse{}, &view().state->completed);
    return memo_.completed;
  }
  // Looks at the CQE.
  GDAKIT_DEVICE std::uint64_t poll() {
    memo_.completed = poll_completion(m_, view());
    return memo_.completed;
  }

  // Of the threads that wait for room the next in line alone looks at the CQE. It is the one whose
  // first slot is free, but for those that follow: who came before had room, by an index that it
  // made known.
  GDAKIT_DEVICE std::uint64_t look_for_room(std::uint64_t base) {
    return base <= memo_.completed + view().depth ? poll() : cached_completion();
  }

  GDAKIT_DEVICE bool wait_for_room(std::uint64_t base, std::uint64_t end) {
    if (end <= memo_.completed + view().depth) return true;
    if (end <= cached_completion() + view().depth) return true;
    Watchdog<M, Context> watchdog(m_, context_, Site::queue_room);
    while (end > look_for_room(base) + view().depth) {
      if (!health()) return false;
      if (!watchdog.turn()) {
        stalled(Site::queue_room, end, watchdog.waited_ns());
        return false;
      }
    }
    return true;
  }

  // Whether any lane wants the doorbell now; then the crew rings for all.
  template <class AnyCrew>
  GDAKIT_DEVICE bool any_rings(const AnyCrew& crew, Batch batch) {
    const bool rings = batch == Batch::last;
    return crew.size() == 1 ? rings : m_.ballot(crew.mask, rings) != 0;
  }

  GDAKIT_DEVICE bool crosses_quarter(std::uint64_t base, std::uint32_t slots) const {
    return (base ^ (base + slots)) >= view().depth / 4;  // a power of two
  }

  template <class AnyCrew, class Write>
  GDAKIT_DEVICE void write_crew(const AnyCrew& crew, PostShape shape, bool more, std::uint64_t base,
                                Write&& write) {
    using format::Completion;
    using format::FenceMode;
    const auto quiet = format::fm_ce_se(FenceMode::none, Completion::on_error);
    const auto signalled = format::fm_ce_se(FenceMode::none, Completion::always);
    const bool own_signal = crew.is_last() && !more && shape.tail == PostShape::Tail::none;
    write(cells_behind(view(), base, std::uint64_t{crew.rank()} * shape.cells),
          own_signal ? signalled : quiet);
    if (!crew.is_last() || shape.tail == PostShape::Tail::none) return;
    const std::uint64_t at = cells_behind(view(), base, std::uint64_t{crew.size()} * shape.cells);
    if (shape.tail == PostShape::Tail::dump) {
      write_dump(
          m_, view(), at,
          format::fm_ce_se(FenceMode::fence, more ? Completion::on_error : Completion::always));
    } else {
      write_nop(m_, view(), at, more ? quiet : signalled);
    }
  }

  // Whether the newest WQE asked neither for a doorbell nor for a CQE, so that waiting for `target`
  // could be for ever.
  GDAKIT_DEVICE bool tail_is_open(std::uint64_t target) {
    const std::uint64_t open = m_.load(order::RelaxedGpu{}, &view().state->open_until);
    return open >= target && open == reserved();
  }

  // Where nobody keeps the record, what it would say.
  GDAKIT_DEVICE std::uint64_t record_for_report(std::uint64_t posted) {
    if (view().recordless) return format::wire_index(posted);
    return Be32::from_raw(m_.load(order::RelaxedSystem{}, view().record));
  }

  GDAKIT_DEVICE std::uint64_t ready_for_report(std::uint64_t posted) {
    if constexpr (Publication::sharing == Sharing::exclusive) {
      return reserved();
    } else {
      const std::uint32_t word = ready_place(view().depth, posted).word;
      return ready_end(m_, view(), posted, m_.load(order::RelaxedGpu{}, &view().ready[word]));
    }
  }

  M& m_;
  const Context& context_;
  QueueMemo& memo_;
  std::uint32_t index_;
};

}  // namespace gdakit

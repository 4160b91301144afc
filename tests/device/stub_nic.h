// A NIC that executes nothing: it takes each WQE that a doorbell record announces, checks that the
// WQE is the one that belongs into its slot, and completes it. For tests and benchmarks of posting
// alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <thread>
#include <vector>

#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "device/publication.h"
#include "device/views.h"

namespace gdakit::test {

// The memory of one queue, with a view of it. For threads of a GPU it lies, like its parts, in
// memory that the GPU shares with the host: `memory` gives it.
class StubQueue {
 public:
  explicit StubQueue(std::uint32_t depth, Sharing sharing = Sharing::shared,
                     Handler handler = Handler::gpu, std::uint32_t fetch_count = 64,
                     std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : wqebbs_(depth, memory),
        ready_(depth / kSlotsPerReadyWord, memory),
        fetch_slots_(fetch_count, memory) {
    std::memset(&cqe_, format::kInvalidCqeByte, sizeof(cqe_));
    ready_[0] = kInitialReadyWord;
    view_.slots = wqebbs_[0].segments;
    view_.depth = depth;
    view_.qpn_shifted = Be32{kQpn << 8};
    view_.record = reinterpret_cast<std::uint32_t*>(&record_.snd_dbr);
    view_.doorbell = handler == Handler::gpu ? &doorbell_ : &proxy_index_;
    view_.cqe = cqe_.words;
    view_.ready = ready_.data();
    view_.state = &state_;
    view_.fetch_slots = fetch_slots_.data();
    view_.fetch_count = fetch_count;
    view_.sink = &sink_;
    view_.peer = 0;
    view_.handler = handler;
    view_.sharing = sharing;
  }
  StubQueue(const StubQueue&) = delete;
  StubQueue& operator=(const StubQueue&) = delete;

  static constexpr std::uint32_t kQpn = 0x1234;

  const QueueView& view() const { return view_; }
  // As who rings for the queue's threads sees it.
  QueueView nic_view() {
    QueueView view = view_;
    view.doorbell = &doorbell_;
    return view;
  }
  QueueState& state() { return state_; }
  std::uint64_t doorbell() const { return doorbell_; }
  std::uint64_t proxy_index() const { return proxy_index_; }
  std::uint32_t record() const { return Be32::from_raw(*view_.record); }

  // The control segment in the slot of `index`.
  format::ControlSegment control_at(std::uint64_t index) const {
    const std::uint64_t slot = index & (view_.depth - 1);
    return bit_cast<format::ControlSegment>(wqebbs_[slot].segments[0]);
  }

  // Writes the CQE of the WQE whose first slot is `index`.
  void complete(std::uint64_t index) {
    write_tail(index, format::op_own(format::CqeOpcode::requester, false));
  }
  void fail(std::uint64_t index, format::Syndrome syndrome) {
    const std::uint64_t detail = std::uint64_t{static_cast<std::uint8_t>(syndrome)} << 56;
    __atomic_store_n(&cqe_.words[6], detail, __ATOMIC_RELEASE);
    write_tail(index, format::op_own(format::CqeOpcode::requester_error, false));
  }

 private:
  void write_tail(std::uint64_t index, std::uint8_t op_own) {
    const Be16 counter{format::wire_index(index)};
    const std::uint64_t tail = (std::uint64_t{counter.raw()} << 32) | (std::uint64_t{op_own} << 56);
    __atomic_store_n(&cqe_.words[7], tail, __ATOMIC_RELEASE);
  }

  struct alignas(64) Cqe {
    std::uint64_t words[8];
  };

  std::pmr::vector<format::Wqebb> wqebbs_;
  std::pmr::vector<std::uint64_t> ready_;
  std::pmr::vector<FetchSlot> fetch_slots_;
  QueueState state_{};
  Cqe cqe_;
  format::DoorbellRecord record_{};
  std::uint64_t doorbell_ = 0;
  std::uint64_t proxy_index_ = 0;
  std::uint64_t sink_ = 0;
  QueueView view_{};
};

// Serves queues on a thread of its own until stopped.
class StubNic {
 public:
  explicit StubNic(std::vector<StubQueue*> queues) : taken_(queues.size()), queues_(queues) {
    thread_ = std::thread([this] {
      while (!stop_.load(std::memory_order_relaxed)) {
        for (std::size_t i = 0; i < queues_.size(); ++i) serve(i);
        std::this_thread::yield();
      }
    });
  }
  ~StubNic() { stop(); }
  StubNic(const StubNic&) = delete;
  StubNic& operator=(const StubNic&) = delete;

  // Serves what was announced before, then ends.
  void stop() {
    if (!thread_.joinable()) return;
    stop_.store(true);
    thread_.join();
    for (std::size_t i = 0; i < queues_.size(); ++i) serve(i);
  }

  // WQEBBs taken from a queue; WQEs that did not belong into their slot; records that went back.
  std::uint64_t taken(std::size_t queue) const { return taken_[queue]; }
  std::uint64_t wrong_wqes() const { return wrong_wqes_; }
  std::uint64_t backward_records() const { return backward_records_; }
  std::uint64_t doorbells() const { return doorbells_; }

 private:
  void serve(std::size_t i) {
    StubQueue& queue = *queues_[i];
    const std::uint32_t raw = __atomic_load_n(queue.view().record, __ATOMIC_ACQUIRE);
    const auto index = static_cast<std::uint16_t>(Be32::from_raw(raw));
    const auto news = static_cast<std::uint16_t>(index - static_cast<std::uint16_t>(taken_[i]));
    if (news == 0) return;
    if (news > queue.view().depth) {
      ++backward_records_;
      return;
    }
    ++doorbells_;
    take(queue, taken_[i], taken_[i] + news);
    taken_[i] += news;
  }

  void take(StubQueue& queue, std::uint64_t from, std::uint64_t to) {
    while (from < to) {
      const format::ControlSegment control = queue.control_at(from);
      if (control.wqe_index() != format::wire_index(from) || control.qpn() != StubQueue::kQpn) {
        ++wrong_wqes_;
        return;
      }
      if (control.completion() == format::Completion::always) queue.complete(from);
      from += format::wqebbs_of(control.ds());
    }
  }

  std::vector<std::uint64_t> taken_;
  std::vector<StubQueue*> queues_;
  std::uint64_t wrong_wqes_ = 0;
  std::uint64_t backward_records_ = 0;
  std::uint64_t doorbells_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gdakit::test

// What a ConnectX tells of a PE's queues: which of them are broken, and by what, and what it counts
// for all of them together.
//
// A queue that fails in what it posted itself has an error's CQE. One that a peer has broken has
// none: the NIC tells of it by an event (queue_events.h). Where the host does not reach the CQE, or
// there are no events, firmware is asked about a few queues at each look.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/mlx5/counter_set.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_events.h"
#include "backends/mlx5/queue_pair.h"
#include "core/base/log.h"
#include "core/host/backend.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::mlx5 {

class QueueWatch {
 public:
  // What the NIC does not have is said to `log` at level info.
  QueueWatch(const OpenNic& nic, MemoryProvider& memory, const Log& log);

  // The set in which queue pairs are to count; 0: there is none.
  std::uint8_t counter_set() const {
    return counters_ == nullptr ? std::uint8_t{0} : counters_->id();
  }

  // From when it is made until it is destroyed.
  void add(QueueNumber number, const QueuePair& pair, const void* cqe);
  void remove(QueueNumber number) { queues_.erase(number); }

  std::string describe(QueueNumber number);
  std::vector<BrokenQueue> broken();
  // All queues that there are, and what the NIC counts for them together.
  NicCount count();
  NicCounters counters() { return counters_ == nullptr ? NicCounters() : counters_->read(); }

 private:
  struct Queue {
    const QueuePair* pair = nullptr;
    const void* cqe = nullptr;
    bool cqe_in_reach = true;  // of the host
    bool told_of = false;      // by events
    std::uint64_t name = 0;    // to events, which come late sometimes: no two queues have one
    std::string event;         // that has come
    std::string why;           // it is broken; empty: it is not, as far as is known
  };
  using Queues = std::map<QueueNumber, Queue>;

  void take_events();
  void take(const QueueEvents::Told& told);
  void do_without_events(const Error& why);
  void look_at_cqes();
  void ask_firmware();
  void look_at(Queue& queue);
  bool must_be_asked_about(const Queue& queue) const {
    return queue.why.empty() && !(queue.told_of && queue.cqe_in_reach);
  }
  std::string why_of(const Queue& queue, std::optional<QueuePairReport> report = {}) const;
  std::string counted_errors() const;
  void say_once(bool& said, const std::string& what) const;

  const OpenNic& nic_;
  MemoryProvider& memory_;
  const Log log_;
  std::unique_ptr<CounterSet> counters_;  // null: the NIC gives none
  std::unique_ptr<QueueEvents> events_;   // null: likewise
  Queues queues_;
  std::uint64_t next_name_ = 1;
  QueueNumber next_asked_ = 0;
  bool said_unsubscribed_ = false;
  bool said_unanswered_ = false;
};

}  // namespace gdakit::mlx5

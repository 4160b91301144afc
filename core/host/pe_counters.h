// What the NIC of one PE has counted by one moment, and that in Prometheus' text format:
//
//   # HELP gdakit_packets_sent_total Given to the wire, repetitions and answers included (packets)
//   # TYPE gdakit_packets_sent_total counter
//   gdakit_packets_sent_total{pe="0",qp="3",peer="1",queue="0"} 1200
//   gdakit_packets_sent_total{pe="0",qp="gone"} 7
//
// A queue pair that is no queue to a peer has neither the label peer nor queue. What belongs to no
// queue pair has the label pe alone. So the sum over a metric of a PE is its NIC's.
//
// A NIC that counts for all queues together has qp="all" in place of a number, and no metrics of
// what it does not count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host/backend.h"
#include "core/host/counter_table.h"

namespace gdakit {

inline constexpr std::string_view kMetricPrefix = "gdakit_";
inline constexpr std::string_view kCounterSuffix = "_total";
inline constexpr std::string_view kStartTime = "gdakit_start_time_seconds";
inline constexpr std::string_view kSampleTime = "gdakit_sample_time_seconds";
// In place of a number: the queue pairs that are gone.
inline constexpr std::string_view kGone = "gone";
// ... or all of them, by a NIC that does not tell one from the other.
inline constexpr std::string_view kAll = "all";
// 1 of a queue pair that an error has broken, 0 of another one.
inline constexpr std::string_view kBroken = "gdakit_queue_broken";

// Which of the queues to a peer a queue pair is.
struct QueuePosition {
  int peer = 0;
  std::uint32_t index = 0;  // among those to the peer

  friend bool operator==(const QueuePosition&, const QueuePosition&) = default;
};

struct PeCounters {
  struct Queue {
    QueueNumber number = 0;
    std::optional<QueuePosition> position = {};
    QueueCounters counters = {};
    std::optional<bool> broken = {};  // nothing: not known
  };

  int pe = 0;
  // Since 1970.
  std::uint64_t started_ms = 0;  // when the PE began to count
  std::uint64_t sampled_ms = 0;  // when it counted this
  NicCounters nic = {};          // of all queue pairs, also those that are gone
  std::vector<Queue> queues = {};
  Counts counts = Counts::each_queue;

  bool knows_queues() const { return counts == Counts::each_queue; }
  // Whether the NIC has this counter.
  bool knows(const CounterRow& row) const {
    return knows_queues() || (counts == Counts::together && is_q_counter(row));
  }
};

// Of one PE, or of several in one text.
std::string prometheus_text(std::span<const PeCounters> pes);

}  // namespace gdakit

// One PE of a timeline: from its records, in their order, to events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host/trace/trace_record.h"
#include "tools/timeline_events.h"
#include "tools/timeline_rows.h"

namespace gdakit::tools {

class TimelinePe {
 public:
  // `moved_ns` is added to all times.
  TimelinePe(TimelineEvents& events, int pe, std::int64_t moved_ns);

  // All of the host's part, then all of the NIC's.
  void add(const TraceRecord& record);
  // All of a part has been added, and it ended early (TraceHeader).
  void part_ends_early(bool is_nic);
  // What has not ended ends with the last record.
  void end();

  std::uint64_t lost() const { return lost_; }

 private:
  // A span that has begun.
  struct Open {
    std::size_t row = 0;
    std::uint64_t begin_ns = 0;
    TraceRecord record;
  };
  struct Queue {
    std::string name;
    TimelineRows rows;
    std::deque<Open> open;                  // WQEs by their index; they end in this order
    std::vector<TimelinePoint> untold;      // where WQEs began that have ended without a CQE
    std::optional<TimelinePoint> cqe = {};  // the last one
    bool has_lost_cqe = false;              // that one was lost to an overrun
  };
  using BlockKey = std::pair<std::uint64_t, std::uint64_t>;  // kernel, block

  std::uint64_t time_of(const TraceRecord& record) const { return moved(record.time_ns); }
  std::uint64_t moved(std::uint64_t ns) const { return ns + static_cast<std::uint64_t>(moved_ns_); }
  Lane one_of(std::optional<Lane>& lane, const char* name, std::uint64_t order);
  Lane nic() { return one_of(nic_, "NIC", kNicOrder); }
  Lane wire() { return one_of(wire_, "wire", kWireOrder); }
  Queue& queue(std::uint32_t number);
  std::string queue_text(std::uint32_t number) const;

  void add_lost(const TraceRecord& record);
  void begin_kernel(const TraceRecord& record);
  void end_kernel(const TraceRecord& record);
  void show_kernel(const Open& open, std::uint64_t end_ns, const char* end = nullptr);
  void begin_block(const TraceRecord& record);
  void end_block(const TraceRecord& record);
  void show_block(const BlockKey& key, const Open& open, std::uint64_t end_ns,
                  const char* end = nullptr);
  void begin_wqe(const TraceRecord& record);
  void end_wqe(const TraceRecord& record);
  void show_wqe(Queue& queue, const Open& open, std::uint64_t ended_ns, const char* how);
  void add_cqe(const TraceRecord& record);
  void add_lost_cqe(const TraceRecord& record);
  void add_doorbell(const TraceRecord& record);
  void add_fetch(const TraceRecord& record);
  void add_packet(const TraceRecord& record);

  static constexpr const char* kNotEnded = "not ended";
  static constexpr std::uint64_t kBlockOrder = 1'000, kQueueOrder = 100'000'000,
                                 kNicOrder = 1'900'000'000, kWireOrder = 1'900'000'001;

  TimelineEvents& events_;
  const int pe_;
  const std::int64_t moved_ns_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t lost_ = 0;
  // What spans have that lasted when their part ended.
  const char* end_of_host_ = kNotEnded;
  const char* end_of_nic_ = kNotEnded;
  TimelineRows kernels_;
  std::map<std::uint64_t, TimelineRows> blocks_;
  std::map<std::uint64_t, Open> open_kernels_;
  std::map<BlockKey, Open> open_blocks_;
  std::map<std::uint32_t, std::string> queue_names_;
  std::map<std::uint32_t, std::uint64_t> queue_orders_;
  std::map<std::uint32_t, Queue> queues_;
  std::optional<Lane> nic_;
  std::optional<Lane> wire_;
};

}  // namespace gdakit::tools

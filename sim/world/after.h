// After: what a world's execution has left behind, for the check that judges it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "backends/softnic/types.h"
#include "device/views.h"

namespace gdakit::sim {

struct WorldRun;

class After {
 public:
  explicit After(WorldRun& run) : run_(run) {}

  // What a PE's object holds. Where writes raced, one of the possible values. Counts as part of the
  // outcome that tells executions apart.
  template <class T>
  T value(std::uint32_t pe, const T* at) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(pe, reinterpret_cast<std::uint64_t>(at), &value, sizeof(T));
    return value;
  }
  // The execution has failed unless `holds`; `what` is a sentence that says what should hold.
  void expect(bool holds, const std::string& what);
  // Adds to the outcome.
  void outcome(std::uint64_t value);

  // A queue as its threads, and as its NIC, left it.
  QueueState queue_state(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  softnic::QpInfo nic_queue(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  softnic::Counters nic_counters(std::uint32_t pe) const;
  // The doorbell record's producer counter.
  std::uint16_t record(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  PeState pe_state(std::uint32_t pe);

  // Every queue of every PE is healthy, and all that was posted has been announced, fetched and
  // completed.
  void expect_quiet();

 private:
  void read(std::uint32_t pe, std::uint64_t address, void* to, std::size_t bytes);
  const QueueView& view(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) const;

  WorldRun& run_;
};

}  // namespace gdakit::sim

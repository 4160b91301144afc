// After: what a world's execution has left behind, for the check that judges it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "core/host/counters.h"
#include "device/views.h"
#include "sim/world/call_scope.h"

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
  // The execution has failed unless `holds`; `what` is a sentence that says what should hold. The
  // finding also tells what value() has returned since the last expectation.
  void expect(bool holds, const std::string& what, CallPlace at = CallPlace::here());
  // The same of two values, which the finding tells: "`name` is 0, wanted 42". Numbers and enums.
  template <class Got, class Wanted>
  void expect_eq(const std::string& name, const Got& got, const Wanted& wanted,
                 CallPlace at = CallPlace::here()) {
    static_assert(std::is_arithmetic_v<Got> || std::is_enum_v<Got>,
                  "expect_eq compares numbers and enums; expect takes any condition");
    judge(is_same(got, wanted),
          name + " is " + number_text(got) + ", wanted " + number_text(wanted), at, false);
  }
  // Adds to the outcome.
  void outcome(std::uint64_t value);

  // A queue as its threads, and as its NIC, left it.
  QueueState queue_state(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  softnic::QpInfo nic_queue(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  NicCounters nic_counters(std::uint32_t pe, std::uint32_t nic = 0) const;
  // The doorbell record's producer counter.
  std::uint16_t record(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer);
  PeState pe_state(std::uint32_t pe);

  // Every queue of every PE is healthy, and all that was posted has been announced, fetched and
  // completed.
  void expect_quiet();

 private:
  // What value() has returned of an object of the user's, since the last expectation.
  struct Look {
    weak::Address at;
    std::uint64_t value;
    std::uint32_t bytes;
  };

  template <class T>
  static constexpr bool is_negative(const T& value) {
    if constexpr (std::is_signed_v<T>) return value < 0;
    return false;
  }
  // As numbers: -1 is no unsigned, and 257 no byte.
  template <class Got, class Wanted>
  static constexpr bool is_same(const Got& got, const Wanted& wanted) {
    if constexpr (std::is_integral_v<Got> && std::is_integral_v<Wanted>) {
      return is_negative(got) == is_negative(wanted) &&
             static_cast<std::uint64_t>(got) == static_cast<std::uint64_t>(wanted);
    } else {
      return got == static_cast<Got>(wanted);
    }
  }

  void judge(bool holds, const std::string& what, CallPlace at, bool tell_looks);
  void trace_looks(CallPlace at);
  void read(std::uint32_t pe, std::uint64_t address, void* to, std::size_t bytes);
  const QueueView& view(std::uint32_t pe, std::uint32_t queue, std::uint32_t peer) const;

  WorldRun& run_;
  std::vector<Look> looks_;
};

}  // namespace gdakit::sim

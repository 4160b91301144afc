// When which queue pair wants to be looked at: an indexed heap, so that the earliest is at hand and
// one more or fewer costs the logarithm of how many run, however many queue pairs have none.
//
//   heap   0: earliest    1, 2: not before 0    3..6: not before their parents    ...
//          each timer knows its place
//
// Room is made by add(), on the control path; set() allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gdakit::softnic {

struct Qp;

// A member of what it belongs to, which outlives its time in Timers.
struct Timer {
  static constexpr std::size_t kNotRunning = ~std::size_t{0};

  Qp* qp = nullptr;
  std::uint64_t at_ns = 0;  // while it runs
  std::size_t place = kNotRunning;
};

class Timers {
 public:
  // Makes room for one more timer, and for one less. A timer that is removed stops.
  void add();
  void remove(Timer& timer);

  // Runs the timer until `at_ns`; 0 stops it.
  void set(Timer& timer, std::uint64_t at_ns);

  // The one that ends first; null if none runs.
  Timer* earliest() const { return heap_.empty() ? nullptr : heap_.front(); }

 private:
  void put(std::size_t place, Timer& timer);
  void rise(std::size_t place, Timer& timer);
  void sink(std::size_t place, Timer& timer);
  void stop(Timer& timer);

  std::vector<Timer*> heap_;
  std::size_t count_ = 0;  // timers added
};

}  // namespace gdakit::softnic

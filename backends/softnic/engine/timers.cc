#include "backends/softnic/engine/timers.h"

#include <algorithm>

#include "core/base/assert.h"

namespace gdakit::softnic {

void Timers::add() {
  ++count_;
  if (heap_.capacity() < count_) heap_.reserve(2 * count_);
}

void Timers::remove(Timer& timer) {
  stop(timer);
  --count_;
}

void Timers::set(Timer& timer, std::uint64_t at_ns) {
  const bool runs = timer.place != Timer::kNotRunning;
  if (at_ns == 0) {
    stop(timer);
  } else if (!runs) {
    GDAKIT_ASSERT(heap_.size() < count_);
    timer.at_ns = at_ns;
    heap_.push_back(&timer);
    rise(heap_.size() - 1, timer);
  } else if (at_ns != timer.at_ns) {
    const bool earlier = at_ns < timer.at_ns;
    timer.at_ns = at_ns;
    earlier ? rise(timer.place, timer) : sink(timer.place, timer);
  }
}

void Timers::stop(Timer& timer) {
  const std::size_t hole = timer.place;
  if (hole == Timer::kNotRunning) return;
  timer.place = Timer::kNotRunning;
  Timer& last = *heap_.back();
  heap_.pop_back();
  if (hole == heap_.size()) return;
  // The last one may belong on either side of the hole.
  rise(hole, last);
  sink(last.place, last);
}

void Timers::put(std::size_t place, Timer& timer) {
  heap_[place] = &timer;
  timer.place = place;
}

// Puts the timer where it belongs, between `place` and the top.
void Timers::rise(std::size_t place, Timer& timer) {
  while (place != 0) {
    const std::size_t parent = (place - 1) / 2;
    if (heap_[parent]->at_ns <= timer.at_ns) break;
    put(place, *heap_[parent]);
    place = parent;
  }
  put(place, timer);
}

// The same, below `place`.
void Timers::sink(std::size_t place, Timer& timer) {
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    const std::size_t other = child + 1;
    if (other < heap_.size() && heap_[other]->at_ns < heap_[child]->at_ns) child = other;
    if (timer.at_ns <= heap_[child]->at_ns) break;
    put(place, *heap_[child]);
    place = child;
  }
  put(place, timer);
}

}  // namespace gdakit::softnic

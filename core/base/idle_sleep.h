// How long a thread that polls may sleep at a time while it finds nothing: a thousandth of the time
// for which it has found nothing, from 1 us to 1 ms.
//
// Whoever comes after a pause is noticed before the pause is felt to be longer, and a thread that
// nobody needs wakes a thousand times a second at most. What a GPU stores cannot wake a thread, so
// it has to look.
#pragma once

#include <algorithm>
#include <chrono>

namespace gdakit {

constexpr std::chrono::nanoseconds idle_sleep(std::chrono::nanoseconds idle) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(1);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(1);
  return std::clamp(idle / 1000, kShortest, kLongest);
}

}  // namespace gdakit

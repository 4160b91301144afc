// IdleBackoff: what a worker does when all its threads only poll. It must not burn a core that the
// NIC's thread or another emulated GPU needs, and must not be late when the awaited store comes
// soon.
//
//   idle turns:  |-- go on --|------ offer the core ------|-- sleep 20, 40 .. 100 us each --
//                0       64 resumes                   256 turns
#pragma once

#include <cstddef>
#include <cstdint>

namespace gdakit::sim {

class IdleBackoff {
 public:
  // A turn of `resumes` threads passed in which none did anything but poll.
  void idle_turn(std::size_t resumes);

  // Something was done.
  void reset() {
    resumes_ = 0;
    turns_ = 0;
    sleep_us_ = 0;
  }

 private:
  std::size_t resumes_ = 0;
  std::uint32_t turns_ = 0;
  std::uint32_t sleep_us_ = 0;
};

}  // namespace gdakit::sim

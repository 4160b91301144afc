#include "sim/idle.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace gdakit::sim {
namespace {

constexpr std::size_t kBusyResumes = 64;    // about a microsecond: cheaper than a system call
constexpr std::uint32_t kYieldTurns = 256;  // some 100 us where nobody else wants the core
constexpr std::uint32_t kSleepStepUs = 20;
constexpr std::uint32_t kMaxSleepUs = 100;

}  // namespace

void IdleBackoff::idle_turn(std::size_t resumes) {
  resumes_ += resumes;
  if (resumes_ < kBusyResumes) return;
  if (turns_ < kYieldTurns) {
    ++turns_;
    std::this_thread::yield();
    return;
  }
  sleep_us_ = std::min(sleep_us_ + kSleepStepUs, kMaxSleepUs);
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
}

}  // namespace gdakit::sim

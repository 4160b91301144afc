// How fast a queue pair may send: the reaction point of DCQCN, as arithmetic without a queue pair.
//
//   notified()    a CNP has come: the rate falls by alpha / 2, and what it was is the target
//   time passes   alpha falls; the rate comes back: half of the way to the target five times, then
//                 the target rises, too, first by a little each time and then by more and more
//   sent()        bytes have gone: the next ones wait until the rate says so
//
// Source: Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section
// 5, and its parameters but for those that are said to be ours. Times are the NIC's clock in ns,
// and never go backwards; rates are bytes a second. Nothing runs by itself: what has happened since
// the last call is made up for in the next.
#pragma once

#include <cstdint>

namespace gdakit::softnic {

class RateLimit {
 public:
  static constexpr std::uint64_t kLineRate = 12'500'000'000;  // 100 Gbit/s: not limited; ours
  static constexpr std::uint64_t kLeastRate = 1'250'000;      // 10 Mbit/s; ours
  static constexpr std::uint64_t kAdditiveRate = 5'000'000;   // 40 Mbit/s at a time
  static constexpr std::uint64_t kHyperRate = 50'000'000;     // ten times that; ours
  static constexpr std::uint64_t kAlphaPeriodNs = 55'000;  // without CNP, after which alpha falls
  static constexpr std::uint64_t kIncreasePeriodNs = 55'000;   // after which the rate rises
  static constexpr std::uint64_t kIncreaseBytes = 10'000'000;  // after which it rises, too
  static constexpr std::uint32_t kFastRecoveries = 5;
  static constexpr double kGain = 1.0 / 256;  // of one CNP, or one period without, in alpha
  // A sender that comes late makes up for so much time, and a packet makes others wait for so long
  // at most: one of megabytes, by reference, must not look like a dead peer. Both are ours.
  static constexpr std::uint64_t kCatchUpNs = 50'000;
  static constexpr std::uint64_t kLongestPauseNs = 4'000'000;

  // Whether the rate is below the line's, or may be: advance() has the latest.
  bool limits() const { return rate_ < kLineRate; }
  std::uint64_t rate() const { return rate_; }
  std::uint64_t target() const { return target_; }
  double alpha() const { return alpha_; }

  void notified(std::uint64_t now_ns);
  // Makes up for the time until now.
  void advance(std::uint64_t now_ns);
  // Bytes have gone, with those of headers.
  void sent(std::uint64_t bytes, std::uint64_t now_ns);
  // When the next ones may go; at or before `now_ns`: at once. 0 if nothing limits.
  std::uint64_t next_ns() const { return limits() ? free_ns_ : 0; }

 private:
  void increase();
  void begin(std::uint64_t now_ns);
  void restart(std::uint64_t now_ns);

  std::uint64_t rate_ = kLineRate;
  std::uint64_t target_ = kLineRate;
  double alpha_ = 1;               // how congested the way is, 0 to 1
  std::uint64_t alpha_ns_ = 0;     // when it was changed
  std::uint64_t increase_ns_ = 0;  // when the timer's last period ended
  std::uint64_t bytes_ = 0;        // sent since the byte counter's last increase
  std::uint32_t by_time_ = 0;      // increases since the last CNP
  std::uint32_t by_bytes_ = 0;
  std::uint64_t free_ns_ = 0;  // when all that was sent has gone at this rate
};

}  // namespace gdakit::softnic

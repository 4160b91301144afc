#include "backends/softnic/transport/rate_limit.h"

#include <algorithm>

namespace gdakit::softnic {
namespace {

// After so many periods without CNP nothing of alpha is left.
constexpr std::uint64_t kMostAlphaPeriods = 4096;

}  // namespace

void RateLimit::notified(std::uint64_t now_ns) {
  advance(now_ns);
  if (!limits()) begin(now_ns);
  target_ = rate_;
  const double left = static_cast<double>(rate_) * (1 - alpha_ / 2);
  rate_ = std::max(kLeastRate, static_cast<std::uint64_t>(left));
  alpha_ = (1 - kGain) * alpha_ + kGain;
  restart(now_ns);
}

// The first CNP in a long time is believed at once.
void RateLimit::begin(std::uint64_t now_ns) {
  alpha_ = 1;
  free_ns_ = now_ns;
}

// Counters and periods begin anew with each CNP.
void RateLimit::restart(std::uint64_t now_ns) {
  alpha_ns_ = increase_ns_ = now_ns;
  bytes_ = 0;
  by_time_ = by_bytes_ = 0;
}

void RateLimit::advance(std::uint64_t now_ns) {
  if (!limits()) return;
  std::uint64_t periods = (now_ns - alpha_ns_) / kAlphaPeriodNs;
  alpha_ns_ += periods * kAlphaPeriodNs;
  for (periods = std::min(periods, kMostAlphaPeriods); periods != 0; --periods) {
    alpha_ *= 1 - kGain;
  }
  while (limits() && now_ns - increase_ns_ >= kIncreasePeriodNs) {
    increase_ns_ += kIncreasePeriodNs;
    ++by_time_;
    increase();
  }
}

// Halfway to the target, which rises when one of the two has come often, and fast when both have.
void RateLimit::increase() {
  const std::uint32_t least = std::min(by_time_, by_bytes_);
  if (least > kFastRecoveries) {
    target_ += kHyperRate * (least - kFastRecoveries);
  } else if (std::max(by_time_, by_bytes_) > kFastRecoveries) {
    target_ += kAdditiveRate;
  }
  target_ = std::min(target_, kLineRate);
  // Rounded up, so that it gets there.
  rate_ += (target_ - rate_ + 1) / 2;
}

void RateLimit::sent(std::uint64_t bytes, std::uint64_t now_ns) {
  if (!limits()) return;
  bytes_ += bytes;
  while (bytes_ >= kIncreaseBytes && limits()) {
    bytes_ -= kIncreaseBytes;
    ++by_bytes_;
    increase();
  }
  const std::uint64_t earliest = now_ns - std::min(now_ns, kCatchUpNs);
  const double takes_ns = static_cast<double>(bytes) * 1e9 / static_cast<double>(rate_);
  const auto takes = static_cast<std::uint64_t>(takes_ns);
  free_ns_ = std::min(std::max(free_ns_, earliest) + takes, now_ns + kLongestPauseNs);
}

}  // namespace gdakit::softnic

// How long a peer takes to answer, as a requester measures it, and how long it waits for an answer
// before it sends again (RFC 6298: the mean and four times the mean deviation).
//
//   asked(psn, now) ... answered(psn, now)   a measurement
//   repeated()                               what was asked is sent again: it is not measured
//   patience_ns()                            doubles with each expired()
//
// An answer to what was sent twice says nothing of the time. So after a wait that was too short the
// next one is as long as the last: a peer that is far away is measured then, however wrong the
// first guess was. Losses that the peer tells of at once shorten it again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

class RoundTrip {
 public:
  // The peer answers the packet before `psn`, which was never sent before. Of several that are
  // under way one is measured.
  void asked(std::uint32_t psn, std::uint64_t now_ns) {
    if (asked_ns_ != 0) return;
    asked_ns_ = std::max<std::uint64_t>(now_ns, 1);
    psn_ = psn;
  }
  // Everything before `psn` is answered.
  void answered(std::uint32_t psn, std::uint64_t now_ns) {
    if (asked_ns_ != 0 && psn_distance(psn, psn_) >= 0) {
      measured(now_ns - std::min(now_ns, asked_ns_));
      asked_ns_ = 0;
      doublings_ = 0;
    } else if (!expired_ && doublings_ != 0) {
      --doublings_;
    }
    expired_ = false;
  }
  void repeated() { asked_ns_ = 0; }
  void expired() {
    expired_ = true;
    doublings_ = std::min(doublings_ + 1, kMostDoublings);
  }

  std::uint64_t patience_ns() const {
    const std::uint64_t once = mean_ns_ == 0 ? kUnknownNs : mean_ns_ + 4 * deviation_ns_;
    return std::min(std::max(once, kLeastNs) << doublings_, kMostNs);
  }

 private:
  // A peer whose thread was not run for a while is not a loss; one that stood still for seconds
  // does not make all losses wait as long.
  static constexpr std::uint64_t kLeastNs = 4'000'000;
  static constexpr std::uint64_t kUnknownNs = 16'000'000;
  static constexpr std::uint64_t kMostNs = 1'000'000'000;
  static constexpr std::uint32_t kMostDoublings = 8;

  void measured(std::uint64_t ns) {
    const std::uint64_t sample = std::clamp<std::uint64_t>(ns, 1, kMostNs);
    if (mean_ns_ == 0) {
      mean_ns_ = sample;
      deviation_ns_ = sample / 2;
      return;
    }
    const std::uint64_t off = sample > mean_ns_ ? sample - mean_ns_ : mean_ns_ - sample;
    deviation_ns_ = (3 * deviation_ns_ + off) / 4;
    mean_ns_ = (7 * mean_ns_ + sample) / 8;
  }

  std::uint64_t asked_ns_ = 0;  // 0: nothing is measured
  std::uint64_t mean_ns_ = 0;   // 0: not known
  std::uint64_t deviation_ns_ = 0;
  std::uint32_t psn_ = 0;
  std::uint32_t doublings_ = 0;
  bool expired_ = false;  // since the last answer
};

}  // namespace gdakit::softnic

// Medians and percentiles of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gdakit::bench {

// The smallest sample that at least `share` (0 < share <= 1) of all do not exceed.
template <class T>
T quantile(std::vector<T> samples, double share) {
  const auto count = static_cast<double>(samples.size());
  const auto place = static_cast<std::size_t>(std::max(0.0, count * share - 1e-9));
  const std::size_t index = std::min(place, samples.size() - 1);
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(index),
                   samples.end());
  return samples[index];
}

template <class T>
T median(const std::vector<T>& samples) {
  return quantile(samples, 0.5);
}

}  // namespace gdakit::bench

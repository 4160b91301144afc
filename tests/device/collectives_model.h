// What collective operations must leave on a member, computed in sequence on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gdakit::test {

// Element i of what member `pe` gives. Small, so that sums of a few fit into every type.
inline std::uint32_t given(int pe, std::size_t i) {
  return static_cast<std::uint32_t>((static_cast<std::size_t>(pe) * 7 + i * 3 + i / 11) % 5);
}

// How many elements member `pe` gives to a collect.
inline std::size_t collect_count(int pe, std::size_t count) {
  return pe % 3 == 1 ? 0 : count / (1 + static_cast<std::size_t>(pe) % 2);
}

// `value(i)` for i from 0 to `count`.
template <class T, class Value>
std::vector<T> list(std::size_t count, Value value) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<T>(value(i));
  return all;
}

template <class T>
std::vector<T> fcollect_model(int n, std::size_t count) {
  return list<T>(static_cast<std::size_t>(n) * count,
                 [count](std::size_t i) { return given(static_cast<int>(i / count), i % count); });
}

template <class T>
std::vector<T> collect_model(int n, std::size_t count) {
  std::vector<T> all;
  for (int pe = 0; pe < n; ++pe) {
    for (std::size_t i = 0; i < collect_count(pe, count); ++i) {
      all.push_back(static_cast<T>(given(pe, i)));
    }
  }
  return all;
}

// Of what lies `stride` elements apart at those who give it.
template <class T>
std::vector<T> alltoall_model(int n, int me, std::size_t count, std::size_t stride) {
  return list<T>(static_cast<std::size_t>(n) * count, [=](std::size_t i) {
    const std::size_t number = static_cast<std::size_t>(me) * count + i % count;
    return given(static_cast<int>(i / count), number * stride);
  });
}

// Elements first .. first + count - 1 of all members, added up.
template <class T>
std::vector<T> sum_model(int n, std::size_t first, std::size_t count) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value = static_cast<T>(given(0, first + i));
    for (int pe = 1; pe < n; ++pe) {
      value = static_cast<T>(value + static_cast<T>(given(pe, first + i)));
    }
    all[i] = value;
  }
  return all;
}

}  // namespace gdakit::test

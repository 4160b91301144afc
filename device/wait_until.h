// Waiting for words of this PE's symmetric heap that other PEs write.
#pragma once

#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"

namespace gdakit {

template <class T>
GDAKIT_HOST_DEVICE constexpr bool holds(T have, Compare compare, T want) {
  switch (compare) {
    case Compare::eq: return have == want;
    case Compare::ne: return have != want;
    case Compare::gt: return have > want;
    case Compare::ge: return have >= want;
    case Compare::lt: return have < want;
    case Compare::le: return have <= want;
  }
  return false;
}

namespace waiting {

// `count` words and what they are compared with. Word i counts unless `skip` is given and skip[i]
// is not 0.
template <class T>
struct Words {
  const T* words;
  std::size_t count;
  const int* skip;
  Compare compare;
  T value;

  template <class M>
  GDAKIT_DEVICE bool counts(M&, std::size_t i) const {
    return skip == nullptr || skip[i] == 0;
  }
  template <class M>
  GDAKIT_DEVICE bool satisfied(M& m, std::size_t i) const {
    return holds(m.load(order::SignalBeforeData{}, &words[i]), compare, value);
  }
};

inline constexpr std::size_t kNoWord = ~std::size_t{0};

// The first word that counts and whose comparison comes out as `wanted`; kNoWord if there is none.
template <class M, class T>
GDAKIT_DEVICE std::size_t find(M& m, const Words<T>& words, bool wanted) {
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i) && words.satisfied(m, i) == wanted) return i;
  }
  return kNoWord;
}

// Writes the indices of all words that count and whose comparison holds; returns how many they are.
template <class M, class T>
GDAKIT_DEVICE std::size_t collect(M& m, const Words<T>& words, std::size_t* indices) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i) && words.satisfied(m, i)) indices[found++] = i;
  }
  return found;
}

// Whether any word counts at all: waiting for none of them would never end.
template <class M, class T>
GDAKIT_DEVICE bool is_empty(M& m, const Words<T>& words) {
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i)) return false;
  }
  return true;
}

// What was put here before the word is visible once this returns: on devices whose inbound writes
// are not ordered by themselves the NIC reads memory once.
template <class P>
GDAKIT_DEVICE Status see_data(const P& poster) {
  if (!poster.context.needs_cst) return {};
  QueueMemo memo;
  auto queue = own_queue(poster, memo);
  return flush_inbound(queue);
}

// What a wait for words was about, for a stall report.
template <class T>
struct Wanted {
  const T* word;
  Compare compare;
  T value;
};

// Files a stall. `guilty` is the PE that should have written the word, where that is known.
template <class P, class T>
GDAKIT_DEVICE Status stalled(const P& poster, const Wanted<T>& wanted, std::uint64_t waited_ns,
                             Site site = Site::signal, std::int32_t guilty = -1) {
  const Stall stall{site, guilty, poster.queue, waited_ns, widen_bits(wanted.value)};
  report_stall(poster.m, poster.context, stall, [&](StallReport& report) {
    const T value = poster.m.load(order::SignalBeforeData{}, wanted.word);
    note(poster.m, &report.compare, wanted.compare);
    note(poster.m, &report.address, reinterpret_cast<std::uint64_t>(wanted.word));
    note(poster.m, &report.value, widen_bits(value));
  });
  return {StatusCode::stalled, format::Syndrome::none, guilty};
}

// Turns until `done()` holds. A stall report names the first word whose comparison does not hold.
template <class P, class T, class Done>
GDAKIT_DEVICE Status until(const P& poster, const Words<T>& words, Done&& done) {
  Watchdog<M_of<P>> watchdog(poster.m, poster.context.watchdog_ns, Site::signal);
  while (!done()) {
    if (watchdog.turn()) continue;
    const std::size_t open = find(poster.m, words, false);
    const T* const blamed = &words.words[open == kNoWord ? 0 : open];
    return stalled(poster, Wanted<T>{blamed, words.compare, words.value}, watchdog.waited_ns());
  }
  return see_data(poster);
}

}  // namespace waiting
}  // namespace gdakit

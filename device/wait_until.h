// Waiting for words of this PE's symmetric heap that other PEs write.
#pragma once

#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"
#include "device/value_bits.h"

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

// The word as it stands.
template <class M, class T>
GDAKIT_DEVICE T look(M& m, const T* word) {
  return m.load(order::SignalBeforeData{}, word);
}

// What words are compared with: all with one value, or word i with values[i].
template <class T>
struct Same {
  T value;
  GDAKIT_DEVICE T of(std::size_t) const { return value; }
};
template <class T>
struct Each {
  const T* values;
  GDAKIT_DEVICE T of(std::size_t i) const { return values[i]; }
};

// `count` words and what they are compared with. Word i counts unless `skip` is given and skip[i]
// is not 0.
template <class T, class Values>
struct Words {
  const T* words;
  std::size_t count;
  const int* skip;
  Compare compare;
  Values values;

  template <class M>
  GDAKIT_DEVICE bool counts(M&, std::size_t i) const {
    return skip == nullptr || skip[i] == 0;
  }
  template <class M>
  GDAKIT_DEVICE bool satisfied(M& m, std::size_t i) const {
    return holds(look(m, &words[i]), compare, values.of(i));
  }
};

template <class T, class Values>
GDAKIT_DEVICE Words<T, Values> words_of(const T* words, std::size_t count, const int* skip,
                                        Compare compare, Values values) {
  static_assert(is_one_word<T>, "words that are waited for have 1, 2, 4 or 8 bytes");
  return {words, count, skip, compare, values};
}

inline constexpr std::size_t kNoWord = ~std::size_t{0};

// Whether threads of machine M look where words lie before they wait for them. Emulated ones do; a
// GPU's would lose time.
template <class M, class = void>
inline constexpr bool looks_where_words_lie = false;
template <class M>
inline constexpr bool looks_where_words_lie<M, std::void_t<decltype(M::kLooksWhereWordsLie)>> =
    M::kLooksWhereWordsLie;

// Of a heap that is checked: whether all words that count may be touched. Refuses the call if not.
template <class P, class T, class Values>
GDAKIT_DEVICE Status check(const P& poster, const Words<T, Values>& words) {
  if constexpr (looks_where_words_lie<M_of<P>>) {
    const DeviceContext& context = poster.context;
    for (std::size_t i = 0; is_checked(context.heap) && i < words.count; ++i) {
      const auto address = reinterpret_cast<std::uint64_t>(&words.words[i]);
      if (!words.counts(poster.m, i) || is_local(context, address, sizeof(T))) continue;
      return poster.fault(Operation::word, Fault::local_memory, context.my_pe, address, sizeof(T));
    }
  }
  return {};
}

// The first word that counts and whose comparison comes out as `wanted`; kNoWord if there is none.
template <class M, class Words>
GDAKIT_DEVICE std::size_t find(M& m, const Words& words, bool wanted) {
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i) && words.satisfied(m, i) == wanted) return i;
  }
  return kNoWord;
}

// Writes the indices of all words that count and whose comparison holds; returns how many they are.
template <class M, class Words>
GDAKIT_DEVICE std::size_t collect(M& m, const Words& words, std::size_t* indices) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i) && words.satisfied(m, i)) indices[found++] = i;
  }
  return found;
}

// Whether any word counts at all: waiting for none of them would never end.
template <class M, class Words>
GDAKIT_DEVICE bool is_empty(M& m, const Words& words) {
  for (std::size_t i = 0; i < words.count; ++i) {
    if (words.counts(m, i)) return false;
  }
  return true;
}

// `m` is a copy: a reference in a call would keep the caller's in memory.
template <class M>
GDAKIT_DEVICE_CALL Status flush_here(M m, const DeviceContext& context) {
  std::uint32_t nic = 0;
  do {
    QueueMemo memo;
    auto queue = own_queue(m, context, memo, nic);
    if (Status status = flush_inbound(m, queue); !status) return status;
  } while (++nic < context.heap.nics);
  return {};
}

// What was put here before the word is visible once this returns: on devices whose inbound writes
// are not ordered by themselves each NIC reads memory once.
template <class P>
GDAKIT_DEVICE Status see_data(const P& poster) {
  const bool by_nic = poster.context.needs_cst && !poster.context.heap.direct_only;
  return by_nic ? flush_here(poster.m, poster.context) : Status{};
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
    const T value = look(poster.m, wanted.word);
    note(poster.m, &report.compare, wanted.compare);
    note(poster.m, &report.address, reinterpret_cast<std::uint64_t>(wanted.word));
    note(poster.m, &report.value, widen_bits(value));
  });
  return {StatusCode::stalled, format::Syndrome::none, guilty};
}

// Turns until `done()` holds. A stall report names the first word whose comparison does not hold.
template <class P, class T, class Values, class Done>
GDAKIT_DEVICE Status until(const P& poster, const Words<T, Values>& words, Done&& done) {
  Watchdog<M_of<P>, DeviceContext, WaitsForAnybody> watchdog(poster.m, poster.context,
                                                             Site::signal);
  while (!done()) {
    if (watchdog.turn()) continue;
    if (watchdog.lost_pe() >= 0) return lost_status(watchdog.lost_pe());
    const std::size_t open = find(poster.m, words, false);
    const std::size_t blamed = open == kNoWord ? 0 : open;
    return stalled(poster, Wanted<T>{&words.words[blamed], words.compare, words.values.of(blamed)},
                   watchdog.waited_ns());
  }
  return see_data(poster);
}

// What is asked of words, by one thread. An answer is a ticket whose index is the answer, so that a
// group can agree on it.
template <class P>
GDAKIT_DEVICE Ticket answer(const P& poster, std::uint64_t value, Status status) {
  return {poster.queue, poster.context.my_pe, value, status};
}

template <class P, class Words>
GDAKIT_DEVICE Ticket for_all(const P& poster, const Words& words) {
  if (const Status good = check(poster, words); !good) return answer(poster, 0, good);
  const auto done = [&] { return find(poster.m, words, false) == kNoWord; };
  return answer(poster, 0, until(poster, words, done));
}

template <class P, class Words>
GDAKIT_DEVICE Ticket for_any(const P& poster, const Words& words) {
  std::size_t index = kNoWord;
  if (is_empty(poster.m, words)) return answer(poster, index, {});
  if (const Status good = check(poster, words); !good) return answer(poster, index, good);
  const Status status = until(poster, words, [&] {
    index = find(poster.m, words, true);
    return index != kNoWord;
  });
  return answer(poster, index, status);
}

template <class P, class Words>
GDAKIT_DEVICE Ticket for_some(const P& poster, const Words& words, std::size_t* indices) {
  std::size_t found = 0;
  if (is_empty(poster.m, words)) return answer(poster, 0, {});
  if (const Status good = check(poster, words); !good) return answer(poster, 0, good);
  const Status status =
      until(poster, words, [&] { return (found = collect(poster.m, words, indices)) != 0; });
  return answer(poster, found, status);
}

template <class P, class Words>
GDAKIT_DEVICE Ticket all_hold(const P& poster, const Words& words) {
  if (const Status good = check(poster, words); !good) return answer(poster, 0, good);
  const bool hold = find(poster.m, words, false) == kNoWord && see_data(poster).ok();
  return answer(poster, hold ? 1 : 0, {});
}

template <class P, class Words>
GDAKIT_DEVICE Ticket which_holds(const P& poster, const Words& words) {
  if (const Status good = check(poster, words); !good) return answer(poster, kNoWord, good);
  const std::size_t index = find(poster.m, words, true);
  const bool seen = index == kNoWord || see_data(poster).ok();
  return answer(poster, seen ? index : kNoWord, {});
}

template <class P, class Words>
GDAKIT_DEVICE Ticket which_hold(const P& poster, const Words& words, std::size_t* indices) {
  if (const Status good = check(poster, words); !good) return answer(poster, 0, good);
  const std::size_t found = collect(poster.m, words, indices);
  const bool seen = found == 0 || see_data(poster).ok();
  return answer(poster, seen ? found : 0, {});
}

// One signal word: its value now, and the value with which a comparison held.
GDAKIT_HOST_DEVICE inline auto one_word(const std::uint64_t* word, Compare compare = Compare::eq,
                                        std::uint64_t value = 0) {
  return words_of(word, 1, nullptr, compare, Same<std::uint64_t>{value});
}
template <class P>
GDAKIT_DEVICE Ticket fetch(const P& poster, const std::uint64_t* word) {
  if (const Status good = check(poster, one_word(word)); !good) return answer(poster, 0, good);
  const std::uint64_t value = look(poster.m, word);
  const Status seen = see_data(poster);
  return answer(poster, seen.ok() ? value : 0, seen);
}

template <class P>
GDAKIT_DEVICE Ticket until_value(const P& poster, const std::uint64_t* word, Compare compare,
                                 std::uint64_t value) {
  std::uint64_t have = 0;
  const auto words = one_word(word, compare, value);
  if (const Status good = check(poster, words); !good) return answer(poster, 0, good);
  const Status status = until(poster, words, [&] {
    have = look(poster.m, word);
    return holds(have, compare, value);
  });
  return answer(poster, status.ok() ? have : 0, status);
}

}  // namespace waiting
}  // namespace gdakit

// Calls of which talks draw the kind: of elements of some size, atomics, and waits for words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/pe.h"
#include "sim/world/scenarios/talk_program.h"

namespace gdakit::sim::scenarios {

// Elements that are no numbers.
struct ThreeBytes {
  std::uint8_t bytes[3];
};
struct SixteenBytes {
  std::uint64_t words[2];
};

inline Batch batch_of(const TalkStep& step) { return step.more ? Batch::more : Batch::last; }

// act(T{}), T being a word of that size, or of eight bytes.
template <class Act>
void with_word(Element element, const Act& act) {
  switch (element) {
    case Element::one: return act(std::uint8_t{});
    case Element::two: return act(std::uint16_t{});
    case Element::four: return act(std::uint32_t{});
    default: return act(std::uint64_t{});
  }
}

// act(T{}), T being the element's type.
template <class Act>
void with_element(Element element, const Act& act) {
  switch (element) {
    case Element::three: return act(ThreeBytes{});
    case Element::sixteen: return act(SixteenBytes{});
    default: return with_word(element, act);
  }
}

// ---- Atomics.

template <class Handle, class T>
Status change_word(Handle& on, T* word, const TalkStep& step) {
  const auto value = static_cast<T>(step.value);
  const auto pe = static_cast<int>(step.pe);
  const Batch batch = batch_of(step);
  switch (step.change) {
    case Change::inc: return on.atomic_inc(word, pe, batch);
    case Change::set: return on.atomic_set(word, value, pe, batch);
    case Change::bit_and: return on.atomic_and(word, value, pe, batch);
    case Change::bit_or: return on.atomic_or(word, value, pe, batch);
    case Change::bit_xor: return on.atomic_xor(word, value, pe, batch);
    default: return on.atomic_add(word, value, pe, batch);
  }
}

template <class Handle, class T>
T fetch_word(Handle& on, T* word, const TalkStep& step, Status* status) {
  const auto value = static_cast<T>(step.value);
  const auto pe = static_cast<int>(step.pe);
  switch (step.change) {
    case Change::add: return on.atomic_fetch_add(word, value, pe, status);
    case Change::inc: return on.atomic_fetch_inc(word, pe, status);
    case Change::set: return on.atomic_swap(word, value, pe, status);
    case Change::bit_and: return on.atomic_fetch_and(word, value, pe, status);
    case Change::bit_or: return on.atomic_fetch_or(word, value, pe, status);
    case Change::bit_xor: return on.atomic_fetch_xor(word, value, pe, status);
    case Change::compare_swap:
      return on.atomic_compare_swap(word, static_cast<T>(step.compared), value, pe, status);
    case Change::fetch: break;
  }
  return on.atomic_fetch(word, pe, status);
}

template <class Handle, class T>
Status fetch_word_nbi(Handle& on, T* to, T* word, const TalkStep& step) {
  const auto value = static_cast<T>(step.value);
  const auto pe = static_cast<int>(step.pe);
  const Batch batch = batch_of(step);
  switch (step.change) {
    case Change::add: return on.atomic_fetch_add_nbi(to, word, value, pe, batch);
    case Change::inc: return on.atomic_fetch_inc_nbi(to, word, pe, batch);
    case Change::set: return on.atomic_swap_nbi(to, word, value, pe, batch);
    case Change::bit_and: return on.atomic_fetch_and_nbi(to, word, value, pe, batch);
    case Change::bit_or: return on.atomic_fetch_or_nbi(to, word, value, pe, batch);
    case Change::bit_xor: return on.atomic_fetch_xor_nbi(to, word, value, pe, batch);
    case Change::compare_swap:
      return on.atomic_compare_swap_nbi(to, word, static_cast<T>(step.compared), value, pe, batch);
    case Change::fetch: break;
  }
  return on.atomic_fetch_nbi(to, word, pe, batch);
}

// ---- Waits for words.

// What a step asks of an array of words that players write, one each.
class Question {
 public:
  static constexpr std::size_t kMost = 8;

  explicit Question(const TalkStep& step) : value_(step.value - (step.above ? 1 : 0)) {
    skip_.fill(1);
    for (const auto& [teller, told] : step.told) {
      skip_[teller] = 0;
      values_[teller] = told.value - (step.above ? 1 : 0);
      if (teller + 1 > count_) count_ = teller + 1;
    }
    compare_ = step.above ? Compare::gt : Compare::ge;
  }
  std::size_t count() const { return count_; }
  const int* skip() const { return skip_.data(); }
  Compare compare() const { return compare_; }
  std::uint64_t value() const { return value_; }
  const std::uint64_t* values() const { return values_.data(); }

 private:
  std::array<int, kMost> skip_{};
  std::array<std::uint64_t, kMost> values_{};
  std::size_t count_ = 0;
  std::uint64_t value_;
  Compare compare_;
};

// Asks until something holds: `ask` says whether.
template <class Handle, class Ask>
void ask_until(Handle& on, const Ask& ask) {
  while (!ask()) on.machine().spin(Site::user);
}

// Of one word, at `word`.
template <class Handle>
Status hear_one(Handle& on, const std::uint64_t* word, const TalkStep& step) {
  const Question asks(step);
  Status status;
  with_word(step.element, [&]<class T>(T) {
    const auto* const at = reinterpret_cast<const T*>(word);
    const auto value = static_cast<T>(asks.value());
    switch (step.hearing) {
      case Hearing::signal_wait_until:
        if (on.signal_wait_until(word, asks.compare(), asks.value(), &status) < step.value) {
          status = {StatusCode::invalid_argument};
        }
        return;
      case Hearing::signal_fetch:
        return ask_until(
            on, [&] { return on.signal_fetch(word, &status) >= step.value || !status.ok(); });
      case Hearing::test: return ask_until(on, [&] { return on.test(at, asks.compare(), value); });
      default: status = on.wait_until(at, asks.compare(), value); return;
    }
  });
  return status;
}

// Of some words of an array at once; heard(i) for each that the call says of that it holds.
template <class Handle, class Heard>
Status hear_all(Handle& on, const std::uint64_t* words, const TalkStep& step, const Heard& heard) {
  const Question asks(step);
  const auto n = asks.count();
  const int* const skip = asks.skip();
  const Compare compare = asks.compare();
  Status status;
  switch (step.hearing) {
    case Hearing::wait_until_all_vector:
      status = on.wait_until_all_vector(words, n, skip, compare, asks.values());
      break;
    case Hearing::test_all:
      ask_until(on, [&] { return on.test_all(words, n, skip, compare, asks.value()); });
      break;
    case Hearing::test_all_vector:
      ask_until(on, [&] { return on.test_all_vector(words, n, skip, compare, asks.values()); });
      break;
    default: status = on.wait_until_all(words, n, skip, compare, asks.value()); break;
  }
  for (const auto& [teller, told] : step.told) heard(teller);
  return status;
}

template <class Handle, class Heard>
Status hear_any(Handle& on, const std::uint64_t* words, const TalkStep& step, const Heard& heard) {
  constexpr std::size_t kNone = ~std::size_t{0};
  const Question asks(step);
  const auto n = asks.count();
  const int* const skip = asks.skip();
  const Compare compare = asks.compare();
  std::size_t index = kNone;
  Status status;
  switch (step.hearing) {
    case Hearing::wait_until_any_vector:
      status = on.wait_until_any_vector(words, n, skip, compare, asks.values(), &index);
      break;
    case Hearing::test_any:
      ask_until(on, [&] {
        return (index = on.test_any(words, n, skip, compare, asks.value())) != kNone;
      });
      break;
    case Hearing::test_any_vector:
      ask_until(on, [&] {
        return (index = on.test_any_vector(words, n, skip, compare, asks.values())) != kNone;
      });
      break;
    default: status = on.wait_until_any(words, n, skip, compare, asks.value(), &index); break;
  }
  heard(index);
  return status;
}

template <class Handle, class Heard>
Status hear_some(Handle& on, const std::uint64_t* words, const TalkStep& step, const Heard& heard) {
  const Question asks(step);
  const auto n = asks.count();
  const int* const skip = asks.skip();
  const Compare compare = asks.compare();
  std::array<std::size_t, Question::kMost> indices{};
  std::size_t found = 0;
  Status status;
  switch (step.hearing) {
    case Hearing::wait_until_some_vector:
      status =
          on.wait_until_some_vector(words, n, skip, compare, asks.values(), indices.data(), &found);
      break;
    case Hearing::test_some:
      ask_until(on, [&] {
        return (found = on.test_some(words, n, skip, compare, asks.value(), indices.data())) != 0;
      });
      break;
    case Hearing::test_some_vector:
      ask_until(on, [&] {
        found = on.test_some_vector(words, n, skip, compare, asks.values(), indices.data());
        return found != 0;
      });
      break;
    default:
      status = on.wait_until_some(words, n, skip, compare, asks.value(), indices.data(), &found);
      break;
  }
  if (found == 0 || found > step.told.size()) return {StatusCode::invalid_argument};
  for (std::size_t i = 0; i < found; ++i) heard(indices[i]);
  return status;
}

template <class Handle, class Heard>
Status hear_words(Handle& on, const std::uint64_t* words, const TalkStep& step,
                  const Heard& heard) {
  switch (step.hearing) {
    case Hearing::wait_until_all:
    case Hearing::wait_until_all_vector:
    case Hearing::test_all:
    case Hearing::test_all_vector: return hear_all(on, words, step, heard);
    case Hearing::wait_until_any:
    case Hearing::wait_until_any_vector:
    case Hearing::test_any:
    case Hearing::test_any_vector: return hear_any(on, words, step, heard);
    case Hearing::wait_until_some:
    case Hearing::wait_until_some_vector:
    case Hearing::test_some:
    case Hearing::test_some_vector: return hear_some(on, words, step, heard);
    default: break;
  }
  const std::uint32_t teller = step.told[0].first;
  const Status status = hear_one(on, words + teller, step);
  heard(teller);
  return status;
}

}  // namespace gdakit::sim::scenarios

// HostCalls' part that waits for words of this PE's heap, and asks what they hold.
#pragma once

#include "core/base/type_identity.h"
#include "device/value_bits.h"
#include "host_calls/call_place.h"

namespace gdakit {

// As device/pe_words.h has them, for words of 1, 2, 4 or 8 bytes. `skip`, `values` and `indices`
// are read and written by the device's threads. Calls that return something wait for the stream;
// where they fail, what they return is the error.
class HostWordCalls {
 public:
  // ---- Waiting.

  template <class T>
  Result<void> wait_until(const T* word, Compare compare, type_identity_t<T> value) const {
    return wait_until_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  Result<void> wait_until_all(const T* words, std::size_t count, const int* skip, Compare compare,
                              type_identity_t<T> value) const {
    return place_.run(waiting(Which::all, same(words, count, skip, compare, value)));
  }
  template <class T>
  Result<void> wait_until_all_vector(const T* words, std::size_t count, const int* skip,
                                     Compare compare, const T* values) const {
    return place_.run(waiting(Which::all, each(words, count, skip, compare, values)));
  }
  // The index of a word whose comparison holds; ~0 when there is no word to wait for.
  template <class T>
  Result<std::size_t> wait_until_any(const T* words, std::size_t count, const int* skip,
                                     Compare compare, type_identity_t<T> value) const {
    return number(waiting(Which::any, same(words, count, skip, compare, value)));
  }
  template <class T>
  Result<std::size_t> wait_until_any_vector(const T* words, std::size_t count, const int* skip,
                                            Compare compare, const T* values) const {
    return number(waiting(Which::any, each(words, count, skip, compare, values)));
  }
  // How many comparisons hold, at least one; their indices.
  template <class T>
  Result<std::size_t> wait_until_some(const T* words, std::size_t count, const int* skip,
                                      Compare compare, type_identity_t<T> value,
                                      std::size_t* indices) const {
    return number(waiting(Which::some, same(words, count, skip, compare, value)), indices);
  }
  template <class T>
  Result<std::size_t> wait_until_some_vector(const T* words, std::size_t count, const int* skip,
                                             Compare compare, const T* values,
                                             std::size_t* indices) const {
    return number(waiting(Which::some, each(words, count, skip, compare, values)), indices);
  }

  // ---- The same questions without waiting for an answer.

  template <class T>
  Result<bool> test(const T* word, Compare compare, type_identity_t<T> value) const {
    return test_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  Result<bool> test_all(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value) const {
    return place_.run_for<bool>(asking(Which::all, same(words, count, skip, compare, value)));
  }
  template <class T>
  Result<bool> test_all_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                               const T* values) const {
    return place_.run_for<bool>(asking(Which::all, each(words, count, skip, compare, values)));
  }
  // A word whose comparison holds, or ~0.
  template <class T>
  Result<std::size_t> test_any(const T* words, std::size_t count, const int* skip, Compare compare,
                               type_identity_t<T> value) const {
    return number(asking(Which::any, same(words, count, skip, compare, value)));
  }
  template <class T>
  Result<std::size_t> test_any_vector(const T* words, std::size_t count, const int* skip,
                                      Compare compare, const T* values) const {
    return number(asking(Which::any, each(words, count, skip, compare, values)));
  }
  // How many comparisons hold; their indices.
  template <class T>
  Result<std::size_t> test_some(const T* words, std::size_t count, const int* skip, Compare compare,
                                type_identity_t<T> value, std::size_t* indices) const {
    return number(asking(Which::some, same(words, count, skip, compare, value)), indices);
  }
  template <class T>
  Result<std::size_t> test_some_vector(const T* words, std::size_t count, const int* skip,
                                       Compare compare, const T* values,
                                       std::size_t* indices) const {
    return number(asking(Which::some, each(words, count, skip, compare, values)), indices);
  }

  // ---- Signal words.

  // What the signal holds; what was put before it was set to that is visible.
  Result<std::uint64_t> signal_fetch(const std::uint64_t* word) const {
    return place_.run_for<std::uint64_t>(
        asking(Which::value, same(word, 1, nullptr, Compare::eq, 0)));
  }
  // Waits; the value with which the comparison held.
  Result<std::uint64_t> signal_wait_until(const std::uint64_t* word, Compare compare,
                                          std::uint64_t value) const {
    return place_.run_for<std::uint64_t>(
        waiting(Which::value, same(word, 1, nullptr, compare, value)));
  }

 protected:
  explicit HostWordCalls(const HostCallPlace& place) : place_(place) {}

  HostCallPlace place_;

 private:
  using Kind = HostOperation::Kind;
  using Which = HostOperation::Which;

  template <class T>
  static HostOperation same(const T* words, std::size_t count, const int* skip, Compare compare,
                            type_identity_t<T> value) {
    HostOperation what = about<T>(words, count, skip, compare);
    what.value = widen_bits(value);
    return what;
  }
  template <class T>
  static HostOperation each(const T* words, std::size_t count, const int* skip, Compare compare,
                            const T* values) {
    HostOperation what = about<T>(words, count, skip, compare);
    what.each = true;
    what.values = values;
    return what;
  }
  template <class T>
  static HostOperation about(const T* words, std::size_t count, const int* skip, Compare compare) {
    static_assert(std::is_integral_v<T>, "words that are waited for are integers");
    HostOperation what;
    what.source = words;
    what.count = count;
    what.type = element_type<T>();
    what.compare = compare;
    what.skip = skip;
    return what;
  }
  static HostOperation waiting(Which which, HostOperation what) {
    what.kind = Kind::wait;
    what.which = which;
    return what;
  }
  static HostOperation asking(Which which, HostOperation what) {
    what.kind = Kind::test;
    what.which = which;
    return what;
  }
  Result<std::size_t> number(HostOperation what, std::size_t* indices = nullptr) const {
    what.dest = indices;
    return place_.run_for<std::size_t>(what);
  }
};

}  // namespace gdakit

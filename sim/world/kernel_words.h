// KernelWords: the waits for words of KernelPe (kernel_pe.h), as device/pe_words.h has Pe's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/world/call_scope.h"

namespace gdakit::sim {

// A part of KernelPe; `Base` is what it does the calls by.
template <class Base>
class KernelWords : public Base {
  using At = CallPlace;

 public:
  KernelWords(const Base& base) : Base(base) {}

  template <class T>
  Status wait_until(const T* word, Compare compare, type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until", compare, shown(this->machine(), value),
                         word);
    return Base::wait_until(word, compare, value);
  }
  template <class T>
  Status wait_until_all(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_all", compare,
                         shown(this->machine(), value), words);
    return Base::wait_until_all(words, count, skip, compare, value);
  }
  template <class T>
  Status wait_until_any(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value, std::size_t* index, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_any", compare,
                         shown(this->machine(), value), words);
    return Base::wait_until_any(words, count, skip, compare, value, index);
  }
  template <class T>
  Status wait_until_some(const T* words, std::size_t count, const int* skip, Compare compare,
                         type_identity_t<T> value, std::size_t* indices, std::size_t* found,
                         At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_some", compare,
                         shown(this->machine(), value), words);
    return Base::wait_until_some(words, count, skip, compare, value, indices, found);
  }
  template <class T>
  bool test(const T* word, Compare compare, type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "test", compare, shown(this->machine(), value), word);
    return Base::test(word, compare, value);
  }
  template <class T>
  Status wait_until_all_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                               const T* values, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_all_vector", compare, "values", words);
    return Base::wait_until_all_vector(words, count, skip, compare, values);
  }
  template <class T>
  Status wait_until_any_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                               const T* values, std::size_t* index, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_any_vector", compare, "values", words);
    return Base::wait_until_any_vector(words, count, skip, compare, values, index);
  }
  template <class T>
  Status wait_until_some_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                                const T* values, std::size_t* indices, std::size_t* found,
                                At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_some_vector", compare, "values", words);
    return Base::wait_until_some_vector(words, count, skip, compare, values, indices, found);
  }
  template <class T>
  bool test_all(const T* words, std::size_t count, const int* skip, Compare compare,
                type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_all", compare, shown(this->machine(), value),
                         words);
    return Base::test_all(words, count, skip, compare, value);
  }
  template <class T>
  std::size_t test_any(const T* words, std::size_t count, const int* skip, Compare compare,
                       type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_any", compare, shown(this->machine(), value),
                         words);
    return Base::test_any(words, count, skip, compare, value);
  }
  template <class T>
  std::size_t test_some(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value, std::size_t* indices, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_some", compare, shown(this->machine(), value),
                         words);
    return Base::test_some(words, count, skip, compare, value, indices);
  }
  template <class T>
  bool test_all_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                       const T* values, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_all_vector", compare, "values", words);
    return Base::test_all_vector(words, count, skip, compare, values);
  }
  template <class T>
  std::size_t test_any_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                              const T* values, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_any_vector", compare, "values", words);
    return Base::test_any_vector(words, count, skip, compare, values);
  }
  template <class T>
  std::size_t test_some_vector(const T* words, std::size_t count, const int* skip, Compare compare,
                               const T* values, std::size_t* indices, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_some_vector", compare, "values", words);
    return Base::test_some_vector(words, count, skip, compare, values, indices);
  }

  // ---- Signal words.

  std::uint64_t signal_fetch(const std::uint64_t* word, Status* status = nullptr,
                             At at = At::here()) {
    const CallScope call(this->machine(), at, "signal_fetch", "", Base::my_pe(), word);
    return Base::signal_fetch(word, status);
  }
  std::uint64_t signal_wait_until(const std::uint64_t* word, Compare compare, std::uint64_t value,
                                  Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "signal_wait_until", compare,
                         shown(this->machine(), value), word);
    return Base::signal_wait_until(word, compare, value, status);
  }
};

}  // namespace gdakit::sim

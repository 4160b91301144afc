// Pe's calls that read words of its own symmetric heap which other PEs write.
#pragma once

#include "core/base/type_identity.h"
#include "device/wait_until.h"

namespace gdakit {

// A part of Pe, which is `Self`.
//
// T has 1, 2, 4 or 8 bytes. Data put before a word was written is visible once a call says that the
// word's comparison holds. `skip`, of `count` entries, may be null; words whose entry is not 0 are
// left out. A wait for no word at all returns at once. The calls of name ..._vector compare word i
// with values[i]. Words are looked at by the first thread of a group, and all threads get what it
// found: in *index and *found, which each thread may have of its own; arrays are written by that
// first thread alone, behind which all have met. Source: OpenSHMEM 1.5 section 9.10.
template <class Self, class Group>
class WordCalls {
 public:
  // ---- Waiting.

  template <class T>
  GDAKIT_DEVICE Status wait_until(const T* word, Compare compare, type_identity_t<T> value) {
    return wait_until_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  GDAKIT_DEVICE Status wait_until_all(const T* words, std::size_t count, const int* skip,
                                      Compare compare, type_identity_t<T> value) {
    return for_all(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}));
  }
  template <class T>
  GDAKIT_DEVICE Status wait_until_all_vector(const T* words, std::size_t count, const int* skip,
                                             Compare compare, const T* values) {
    return for_all(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}));
  }
  // Sets *index to a word whose comparison holds; to ~0 when there is no word to wait for.
  template <class T>
  GDAKIT_DEVICE Status wait_until_any(const T* words, std::size_t count, const int* skip,
                                      Compare compare, type_identity_t<T> value,
                                      std::size_t* index) {
    return for_any(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}), index);
  }
  template <class T>
  GDAKIT_DEVICE Status wait_until_any_vector(const T* words, std::size_t count, const int* skip,
                                             Compare compare, const T* values, std::size_t* index) {
    return for_any(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}), index);
  }
  // Waits for at least one; writes the indices of all whose comparison holds, and how many they
  // are.
  template <class T>
  GDAKIT_DEVICE Status wait_until_some(const T* words, std::size_t count, const int* skip,
                                       Compare compare, type_identity_t<T> value,
                                       std::size_t* indices, std::size_t* found) {
    return for_some(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}),
                    indices, found);
  }
  template <class T>
  GDAKIT_DEVICE Status wait_until_some_vector(const T* words, std::size_t count, const int* skip,
                                              Compare compare, const T* values,
                                              std::size_t* indices, std::size_t* found) {
    return for_some(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}),
                    indices, found);
  }

  // ---- The same questions without waiting.

  template <class T>
  GDAKIT_DEVICE bool test(const T* word, Compare compare, type_identity_t<T> value) {
    return test_all(word, 1, nullptr, compare, value);
  }
  template <class T>
  GDAKIT_DEVICE bool test_all(const T* words, std::size_t count, const int* skip, Compare compare,
                              type_identity_t<T> value) {
    return all_hold(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}));
  }
  template <class T>
  GDAKIT_DEVICE bool test_all_vector(const T* words, std::size_t count, const int* skip,
                                     Compare compare, const T* values) {
    return all_hold(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}));
  }
  // A word whose comparison holds, or ~0.
  template <class T>
  GDAKIT_DEVICE std::size_t test_any(const T* words, std::size_t count, const int* skip,
                                     Compare compare, type_identity_t<T> value) {
    return which_holds(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}));
  }
  template <class T>
  GDAKIT_DEVICE std::size_t test_any_vector(const T* words, std::size_t count, const int* skip,
                                            Compare compare, const T* values) {
    return which_holds(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}));
  }
  // How many comparisons hold; their indices.
  template <class T>
  GDAKIT_DEVICE std::size_t test_some(const T* words, std::size_t count, const int* skip,
                                      Compare compare, type_identity_t<T> value,
                                      std::size_t* indices) {
    return which_hold(waiting::words_of(words, count, skip, compare, waiting::Same<T>{value}),
                      indices);
  }
  template <class T>
  GDAKIT_DEVICE std::size_t test_some_vector(const T* words, std::size_t count, const int* skip,
                                             Compare compare, const T* values,
                                             std::size_t* indices) {
    return which_hold(waiting::words_of(words, count, skip, compare, waiting::Each<T>{values}),
                      indices);
  }

  // ---- Signal words.

  // What the signal holds now, ordered like a test that succeeds: what was put before it was set to
  // that is visible. 0 when *status is not ok.
  GDAKIT_DEVICE std::uint64_t signal_fetch(const std::uint64_t* word, Status* status = nullptr) {
    return told(by_one(machine(), Group{}, [&] { return waiting::fetch(self().poster(), word); }),
                status);
  }
  // Waits, and returns the value with which the comparison held; 0 when *status is not ok.
  GDAKIT_DEVICE std::uint64_t signal_wait_until(const std::uint64_t* word, Compare compare,
                                                std::uint64_t value, Status* status = nullptr) {
    return told(by_one(machine(), Group{},
                       [&] { return waiting::until_value(self().poster(), word, compare, value); }),
                status);
  }

 private:
  GDAKIT_DEVICE Self& self() { return static_cast<Self&>(*this); }
  GDAKIT_DEVICE auto& machine() { return self().machine(); }

  GDAKIT_DEVICE static std::uint64_t told(const Ticket& answer, Status* status) {
    give(status, answer.status);
    return answer.index;
  }

  // What is asked of words, by the first thread of the group for all.
  template <class Words>
  GDAKIT_DEVICE Status for_all(const Words& all) {
    return by_one(machine(), Group{}, [&] { return waiting::for_all(self().poster(), all); })
        .status;
  }
  template <class Words>
  GDAKIT_DEVICE Status for_any(const Words& all, std::size_t* index) {
    const Ticket answer =
        by_one(machine(), Group{}, [&] { return waiting::for_any(self().poster(), all); });
    *index = answer.index;
    return answer.status;
  }
  template <class Words>
  GDAKIT_DEVICE Status for_some(const Words& all, std::size_t* indices, std::size_t* found) {
    const Ticket answer = by_one(machine(), Group{},
                                 [&] { return waiting::for_some(self().poster(), all, indices); });
    *found = answer.index;
    return answer.status;
  }
  template <class Words>
  GDAKIT_DEVICE bool all_hold(const Words& all) {
    return by_one(machine(), Group{}, [&] {
             return waiting::all_hold(self().poster(), all);
           }).index != 0;
  }
  template <class Words>
  GDAKIT_DEVICE std::size_t which_holds(const Words& all) {
    return by_one(machine(), Group{}, [&] { return waiting::which_holds(self().poster(), all); })
        .index;
  }
  template <class Words>
  GDAKIT_DEVICE std::size_t which_hold(const Words& all, std::size_t* indices) {
    return by_one(machine(), Group{},
                  [&] { return waiting::which_hold(self().poster(), all, indices); })
        .index;
  }
};

}  // namespace gdakit

// A list whose links lie in the objects themselves: adding and removing one allocates nothing and
// takes the same time however long the list is.
//
//   first() --> a <--> b <--> c <-- last
#pragma once

#include "core/base/assert.h"

namespace gdakit::softnic {

// A member of an object that may be in one list.
template <class T>
struct Link {
  T* before = nullptr;
  T* after = nullptr;
  bool linked = false;
};

template <class T, Link<T> T::*link>
class LinkedList {
 public:
  bool empty() const { return first_ == nullptr; }
  T* first() const { return first_; }
  T* last() const { return last_; }
  static bool holds(const T& object) { return (object.*link).linked; }

  void push_back(T& object) {
    Link<T>& at = object.*link;
    GDAKIT_ASSERT(!at.linked);
    at = {last_, nullptr, true};
    (last_ == nullptr ? first_ : (last_->*link).after) = &object;
    last_ = &object;
  }
  void remove(T& object) {
    Link<T>& at = object.*link;
    GDAKIT_ASSERT(at.linked);
    (at.before == nullptr ? first_ : (at.before->*link).after) = at.after;
    (at.after == nullptr ? last_ : (at.after->*link).before) = at.before;
    at = {};
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace gdakit::softnic

// Room for a fixed number of objects, of which one is made when it, or a later one, is first named.
// Memory of what is never used is never touched.
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/assert.h"

namespace gdakit::softnic {

template <class T>
class LazyArray {
 public:
  explicit LazyArray(std::size_t size)
      : size_(size), objects_(std::allocator<T>().allocate(size), Release{size}) {}
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  ~LazyArray() { std::destroy_n(objects_.get(), made_); }

  std::size_t size() const { return size_; }

  T& operator[](std::size_t index) {
    GDAKIT_ASSERT(index < size_);
    while (made_ <= index) std::construct_at(objects_.get() + made_++);
    return objects_.get()[index];
  }

 private:
  struct Release {
    std::size_t size;
    void operator()(T* objects) const { std::allocator<T>().deallocate(objects, size); }
  };

  std::size_t size_;
  std::size_t made_ = 0;
  std::unique_ptr<T, Release> objects_;
};

}  // namespace gdakit::softnic

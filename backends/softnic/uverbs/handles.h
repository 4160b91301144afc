// The objects of one open device, by the handles that its client holds.
//
// An object that another one uses cannot go: the call says EBUSY. At the end of the client's file
// all go, users first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class Context;

enum class ObjectType : std::uint8_t { pd, mr, mw, dm, cq, srq, xrcd, qp, ah, uar, devx, umem };

class Object {
 public:
  explicit Object(ObjectType type) : type_(type) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  // Takes it from the device, which then neither reads nor writes its memory.
  virtual Result<void> end(Context& context) = 0;

  ObjectType type() const { return type_; }
  std::uint32_t handle() const { return handle_; }
  bool in_use() const { return users_ != 0; }

  // The device has it no more, but may still use its memory: end() ran out of time.
  bool lingers() const { return lingers_; }
  void set_lingers() { lingers_ = true; }

 private:
  friend class Handles;
  template <class T>
  friend class Use;

  const ObjectType type_;
  std::uint32_t handle_ = 0;
  std::uint32_t users_ = 0;
  bool lingers_ = false;
};

// One object's use of another, for as long as it lives; may be of none.
template <class T>
class Use {
 public:
  Use() = default;
  explicit Use(T* used) : used_(used) {
    if (used_ != nullptr) ++used_->users_;
  }
  Use(Use&& other) noexcept : used_(std::exchange(other.used_, nullptr)) {}
  Use& operator=(Use&& other) noexcept {
    std::swap(used_, other.used_);
    return *this;
  }
  ~Use() {
    if (used_ != nullptr) --used_->users_;
  }
  T* operator->() const { return used_; }
  T* get() const { return used_; }

 private:
  T* used_ = nullptr;
};

class Handles {
 public:
  std::uint32_t add(std::unique_ptr<Object> object) {
    const std::uint32_t handle = next_++;
    object->handle_ = handle;
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  std::size_t count() const { return objects_.size(); }
  std::size_t count(ObjectType type) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        objects_, [type](const auto& one) { return one.second->type() == type; }));
  }

  // Null if there is none of this type.
  template <class T>
  T* find(std::uint32_t handle) const {
    const auto at = objects_.find(handle);
    if (at == objects_.end() || at->second->type() != T::kType) return nullptr;
    return static_cast<T*>(at->second.get());
  }

  // The first of this type for which `is_it` holds; null if there is none.
  template <class T, class Predicate>
  T* find_if(const Predicate& is_it) const {
    for (const auto& [handle, object] : objects_) {
      if (object->type() != T::kType) continue;
      T* const one = static_cast<T*>(object.get());
      if (is_it(*one)) return one;
    }
    return nullptr;
  }

  // The object goes, which the caller has ended. It is not in use.
  void remove(const Object& object) { objects_.erase(object.handle()); }

  // The object made last, of those before this handle, that no other uses: users may be older than
  // what they use (rereg_mr). Null if none is left.
  Object* last_unused(std::uint32_t before = ~std::uint32_t{0}) const {
    auto at = objects_.lower_bound(before);
    while (at != objects_.begin()) {
      --at;
      if (!at->second->in_use()) return at->second.get();
    }
    return nullptr;
  }

 private:
  std::uint32_t next_ = 1;
  std::map<std::uint32_t, std::unique_ptr<Object>> objects_;
};

}  // namespace gdakit::softnic::uverbs

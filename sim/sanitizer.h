// What the sanitizers must be told about a switch of stacks.
//
// AddressSanitizer must know the bounds of the stack that runs, ThreadSanitizer keeps one state per
// fiber. A StackShadow belongs to one fiber; in an ordinary build it is empty and its calls vanish.
// A switch made with it orders memory for ThreadSanitizer, so races between fibers of one OS thread
// are not reported: the weak-memory simulator is what finds those. Races with other OS threads are.
#pragma once

#include <cstddef>

#include "core/base/annotate.h"

#if GDAKIT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if GDAKIT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace gdakit::sim {

#if GDAKIT_ASAN

class StackShadow {
 public:
  StackShadow(const void* bottom, std::size_t bytes) : bottom_(bottom), bytes_(bytes) {}
  // A body's last frames never return, so their red zones would still lie on the stack.
  ~StackShadow() { __asan_unpoison_memory_region(bottom_, bytes_); }
  StackShadow(const StackShadow&) = delete;
  StackShadow& operator=(const StackShadow&) = delete;

  void before_create() {}
  void after_create() {}
  void before_resume() { __sanitizer_start_switch_fiber(&caller_frames_, bottom_, bytes_); }
  void after_resume() { __sanitizer_finish_switch_fiber(caller_frames_, nullptr, nullptr); }
  void on_entry() { __sanitizer_finish_switch_fiber(nullptr, &caller_bottom_, &caller_bytes_); }
  void before_suspend() { __sanitizer_start_switch_fiber(&frames_, caller_bottom_, caller_bytes_); }
  void after_suspend() {
    __sanitizer_finish_switch_fiber(frames_, &caller_bottom_, &caller_bytes_);
  }
  // The fiber never runs again: a null address frees what AddressSanitizer keeps for it.
  void before_end() { __sanitizer_start_switch_fiber(nullptr, caller_bottom_, caller_bytes_); }

 private:
  const void* bottom_;
  std::size_t bytes_;
  void* frames_ = nullptr;
  void* caller_frames_ = nullptr;
  const void* caller_bottom_ = nullptr;
  std::size_t caller_bytes_ = 0;
};

#elif GDAKIT_TSAN

class StackShadow {
 public:
  StackShadow(const void*, std::size_t) : self_(__tsan_create_fiber(0)) {}
  ~StackShadow() { __tsan_destroy_fiber(self_); }
  StackShadow(const StackShadow&) = delete;
  StackShadow& operator=(const StackShadow&) = delete;

  // Creating a context enters its first function and leaves it by a jump; that entry must not stay
  // on the creator's shadow stack, which would overflow after some ten thousand fibers.
  void before_create() { before_resume(); }
  void after_create() { before_suspend(); }
  void before_resume() {
    caller_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(self_, 0);
  }
  void after_resume() {}
  void on_entry() {}
  void before_suspend() { __tsan_switch_to_fiber(caller_, 0); }
  void after_suspend() {}
  void before_end() { before_suspend(); }

 private:
  void* self_;
  void* caller_ = nullptr;
};

#else

class StackShadow {
 public:
  StackShadow(const void*, std::size_t) {}

  void before_create() {}
  void after_create() {}
  void before_resume() {}
  void after_resume() {}
  void on_entry() {}
  void before_suspend() {}
  void after_suspend() {}
  void before_end() {}
};

#endif

}  // namespace gdakit::sim

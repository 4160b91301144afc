// Programmer errors. An operating error (bad input, a peer that died) is a Result or a Status
// instead.
#pragma once

#include "core/base/annotate.h"

#if GDAKIT_DEVICE_CODE
#include <cassert>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace gdakit {

// Ends the program with the condition that did not hold and its place in the source.
[[noreturn]] GDAKIT_HOST_DEVICE inline void assertion_failed(const char* condition,
                                                             const char* file, int line) {
#if GDAKIT_DEVICE_CODE
  __assert_fail(condition, file, line, "");
  __builtin_unreachable();  // CUDA does not declare that it never returns
#else
  std::fprintf(stderr, "%s:%d: gdakit assertion failed: %s\n", file, line, condition);
  std::abort();
#endif
}

}  // namespace gdakit

// On in every build but those that define GDAKIT_NO_ASSERT. The condition must have no side effect.
#if defined(GDAKIT_NO_ASSERT)
#define GDAKIT_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define GDAKIT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::gdakit::assertion_failed(#condition, __FILE__, __LINE__))
#endif

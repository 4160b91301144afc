// Calls of the engine's control path that cannot fail where a world makes them.
#pragma once

#include "backends/softnic/objects/status.h"
#include "core/base/assert.h"

namespace gdakit::sim {

template <class T>
T must(softnic::Outcome<T> result) {
  GDAKIT_ASSERT(static_cast<bool>(result));
  return *result;
}
inline void must(const softnic::Outcome<>& result) { GDAKIT_ASSERT(static_cast<bool>(result)); }

}  // namespace gdakit::sim

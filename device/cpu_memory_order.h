// Kind as the atomic built-ins of a CPU's compilers name it.
#pragma once

#include "device/machine.h"

namespace gdakit {

// One of __ATOMIC_RELAXED to __ATOMIC_SEQ_CST.
constexpr int cpu_memory_order(Kind kind) {
  switch (kind) {
    case Kind::relaxed: return __ATOMIC_RELAXED;
    case Kind::acquire: return __ATOMIC_ACQUIRE;
    case Kind::release: return __ATOMIC_RELEASE;
    case Kind::acq_rel: return __ATOMIC_ACQ_REL;
    case Kind::sc: break;
  }
  return __ATOMIC_SEQ_CST;
}

}  // namespace gdakit

#include "core/base/sodium_begin.h"

#include <sodium.h>

#include "core/base/assert.h"

namespace gdakit {

void begin_sodium() {
  static const int begun = ::sodium_init();
  GDAKIT_ASSERT(begun >= 0);
}

}  // namespace gdakit

// The end of a target of DC, as the kernel brings it about: it is drained, which is waited for, and
// destroyed.
#pragma once

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/context.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

// EBUSY: what was under way has not ended after five seconds; the target is there, but takes
// nothing any more, and may be ended by another call.
Result<void> end_dct(Context& context, DctNumber dct);

}  // namespace gdakit::softnic::uverbs

// Finds the command that a call is for.
#pragma once

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs {

// EPROTONOSUPPORT for what is not there, as a kernel says that is older than the method: the
// client then does without it.
int dispatch(Context& context, Attributes& call);

}  // namespace gdakit::softnic::uverbs

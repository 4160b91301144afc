// Finds the command that a call is for.
#pragma once

#include <string_view>

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs {

// EPROTONOSUPPORT for what is not there, as a kernel says that is older than the method: the
// client then does without it.
// One that is to fail (failures.h) does nothing.
int dispatch(Context& context, Attributes& call);

// Whether there is a call of this name, as failures.h has it: that of its command.
bool is_call(std::string_view name);

}  // namespace gdakit::softnic::uverbs

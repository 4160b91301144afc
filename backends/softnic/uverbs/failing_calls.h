// Calls that the kernel refuses where something of the node is broken (failures.h), whatever they
// are about.
#pragma once

#include <string_view>

#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs {

// Of a call of this name, before it does anything: 0, or the error that it is to return. EAGAIN:
// the control group has no room for one more object.
int refused(Context& context, std::string_view call);

}  // namespace gdakit::softnic::uverbs

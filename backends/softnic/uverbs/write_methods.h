// The commands of the kernel's older interface, by write(), which come as one call now.
#pragma once

#include <string_view>

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs {

// Carries out the one whose number is an attribute. One that is to fail (failures.h) does nothing.
int invoke_write(Context& context, Attributes& call);

bool is_write_call(std::string_view name);

}  // namespace gdakit::softnic::uverbs

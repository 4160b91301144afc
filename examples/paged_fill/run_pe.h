// One PE of the job, server or client.
#pragma once

#include "core/base/result.h"
#include "examples/paged_fill/arguments.h"
#include "gdakit.h"

namespace fill {

// Collective. Makes memory and channels, serves or asks, and has PE 0 print a table. Errors: the
// arguments do not fit the job, something failed, or a page had a wrong word.
gdakit::Result<void> run_pe(gdakit::Context& context, const Arguments& arguments);

}  // namespace fill

// One PE of the job, on the host: batch after batch of its share of the words.
#pragma once

#include <span>
#include <string>

#include "core/host/context.h"
#include "examples/moe_dispatch/arguments.h"

namespace moe {

// Collective. PE 0 prints. The error of a wrong output comes after the last step, so that the other
// PEs do not wait for this one.
gdakit::Result<void> run_pe(gdakit::Context& context, const Arguments& arguments,
                            std::span<const std::string> words);

}  // namespace moe

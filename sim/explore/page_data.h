// The run as the page's script reads it: JSON, in the fields that page/model.js names.
#pragma once

#include <ostream>

#include "sim/choice/trace.h"

namespace gdakit::sim::page {

void write_data(const Trace& trace, std::ostream& to);

}  // namespace gdakit::sim::page

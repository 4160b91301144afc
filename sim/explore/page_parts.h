// The sources of the page, sim/explore/page/, as text: cmake/gdakit_embed.cmake puts them into the
// library.
#pragma once

#include <string_view>

namespace gdakit::sim::page {

// The page itself; @name@ stands where write_page puts something in.
extern const std::string_view kHtml;
extern const std::string_view kStyle;
extern const std::string_view kScript;

}  // namespace gdakit::sim::page

#include "sim/explore/page.h"

#include <string>
#include <string_view>

#include "core/base/assert.h"
#include "sim/explore/page_data.h"
#include "sim/explore/page_parts.h"

namespace gdakit::sim {
namespace {

// Text as it may stand between the tags of a page.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

void write_part(std::string_view name, const Trace& trace, std::ostream& to) {
  if (name == "title") {
    to << escaped(trace.scenario) << ": " << escaped(trace.verdict);
  } else if (name == "verdict") {
    to << escaped(trace.verdict);
  } else if (name == "style") {
    to << page::kStyle;
  } else if (name == "script") {
    to << page::kScript;
  } else {
    GDAKIT_ASSERT(name == "trace");
    page::write_data(trace, to);
  }
}

}  // namespace

// The page's own text is copied up to each @name@, which a part replaces. Parts are not looked
// into.
void write_page(const Trace& trace, std::ostream& to) {
  std::string_view rest = page::kHtml;
  for (std::size_t at = rest.find('@'); at != rest.npos; at = rest.find('@')) {
    const std::size_t end = rest.find('@', at + 1);
    GDAKIT_ASSERT(end != rest.npos);
    to << rest.substr(0, at);
    write_part(rest.substr(at + 1, end - at - 1), trace, to);
    rest.remove_prefix(end + 1);
  }
  to << rest;
}

}  // namespace gdakit::sim

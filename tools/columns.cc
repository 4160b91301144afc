#include "tools/columns.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace gdakit::tools {

std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  const std::size_t width = kColumns - std::min(indent, kColumns / 2);
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == text.npos || end == 0) end = text.find(' ', width);
    if (end == text.npos) break;
    lines += std::string(text.substr(0, end)) + '\n' + std::string(indent, ' ');
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text);
}

std::string entry(std::string_view name, std::string_view text, std::size_t at) {
  std::string line = "  " + std::string(name);
  line.resize(std::max(line.size() + 1, at), ' ');
  return line + wrapped(text, at) + '\n';
}

std::string heading(std::string_view text) {
  const char* const no_color = std::getenv("NO_COLOR");
  const bool plain = (no_color != nullptr && *no_color != '\0') || ::isatty(STDOUT_FILENO) == 0;
  return plain ? std::string(text) : "\x1b[1m" + std::string(text) + "\x1b[0m";
}

}  // namespace gdakit::tools

#include "core/base/log.h"

#include <cerrno>
#include <unistd.h>

namespace gdakit {

const char* log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warn: return "warn";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
  }
  return "unknown";
}

std::string Log::format(LogLevel level, std::string_view message) const {
  std::string prefix = "gdakit";
  if (pe_ >= 0) prefix += "[pe " + std::to_string(pe_) + "]";
  prefix += std::string(" ") + log_level_name(level) + ": ";
  // A line break at the end of the message is not a further, empty line.
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  std::string text = prefix;
  for (const char c : message) {
    text += c;
    if (c == '\n') text += prefix;
  }
  return text + '\n';
}

void Log::write(LogLevel level, std::string_view message) const {
  if (!shows(level)) return;
  const std::string text = format(level, message);
  std::string_view rest = text;
  // A write is interrupted or cut short only in rare cases; nobody can be told that stderr is
  // closed.
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace gdakit

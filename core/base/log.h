// Log: lines to stderr, each with its PE and level:
//
//   gdakit[pe 2] warn: the device thread of block 0 has waited 30 s for PE 3
//
// A Log is a value that its owner hands down; there is no process-wide level. It may be used from
// any thread: a message is one write, so that lines of different threads do not mix.
#pragma once

#include <string>
#include <string_view>

namespace gdakit {

// From the least to the most talkative: a level shows itself and those before it.
enum class LogLevel { error, warn, info, debug };

// The level's name as it stands in this file.
const char* log_level_name(LogLevel level);

class Log {
 public:
  Log() = default;
  // `pe` below 0: this process is no PE, or does not know yet which.
  explicit Log(LogLevel level, int pe = -1) : level_(level), pe_(pe) {}

  bool shows(LogLevel level) const { return level <= level_; }

  void error(std::string_view message) const { write(LogLevel::error, message); }
  void warn(std::string_view message) const { write(LogLevel::warn, message); }
  void info(std::string_view message) const { write(LogLevel::info, message); }
  void debug(std::string_view message) const { write(LogLevel::debug, message); }

  // The text that write() would print: the prefix stands before every line of the message.
  std::string format(LogLevel level, std::string_view message) const;

 private:
  void write(LogLevel level, std::string_view message) const;

  LogLevel level_ = LogLevel::warn;
  int pe_ = -1;
};

}  // namespace gdakit

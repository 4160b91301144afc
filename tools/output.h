// What the PEs print, on its way to the launcher's stdout and stderr.
//
//   PE 0 stdout --LineSplitter--.
//   PE 1 stdout --LineSplitter---> Sink --> stdout
//
// A line leaves as a whole, so that lines of different PEs do not mix; without prefixes, what a PE
// prints leaves byte for byte. A sink never blocks the launcher, which must still see signals and
// dead PEs while nobody reads its output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace gdakit::tools {

// A line that is longer is cut here, so that a program that prints no line break costs bounded
// memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

class LineSplitter {
 public:
  // With a prefix, every line gets it, and a line break where it is cut or not ended; without one,
  // no byte is added. `at_once`, which has no prefix, passes on bytes instead of lines.
  explicit LineSplitter(std::string prefix, bool at_once = false)
      : prefix_(std::move(prefix)), at_once_(at_once) {}

  // Appends to `out` the lines that `data` completes.
  void feed(std::string_view data, std::string& out);
  // Appends the last line, if it has begun.
  void finish(std::string& out);

 private:
  void pass_on(bool ended, std::string& out);

  std::string prefix_;
  std::string line_;  // begun
  bool at_once_;
};

class Sink {
 public:
  // `name` is what errors call it.
  Sink(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  int descriptor() const { return descriptor_; }
  std::string& pending() { return pending_; }
  bool empty() const { return pending_.empty(); }
  // Above this, the PEs are not read from: they wait, as they would with a slow terminal.
  bool full() const { return pending_.size() > kMaxLineBytes; }

  // Writes as much as can be written without waiting. After an error, whose system code is EPIPE if
  // nobody can ever read it, what was pending is lost.
  Result<void> flush();

 private:
  int descriptor_;
  std::string name_;
  std::string pending_;
};

}  // namespace gdakit::tools

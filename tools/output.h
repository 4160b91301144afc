// What the PEs print, on its way to the launcher's stdout and stderr.
//
//   PE 0 stdout --LineSplitter--.
//   PE 1 stdout --LineSplitter---> Sink --> stdout
//
// A line leaves as a whole, so that lines of different PEs do not mix. A sink never blocks the
// launcher, which must still see signals and dead PEs while nobody reads its output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace gdakit::tools {

// A line that is longer is cut here, so that a program that prints no line break costs bounded
// memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

class LineSplitter {
 public:
  explicit LineSplitter(std::string prefix) : prefix_(std::move(prefix)) {}

  // Appends to `out` the lines that `data` completes, each with the prefix.
  void feed(std::string_view data, std::string& out);
  // Appends the last line, if it has begun, and ends it.
  void finish(std::string& out);

 private:
  std::string prefix_;
  std::string line_;  // begun
};

class Sink {
 public:
  explicit Sink(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_; }
  std::string& pending() { return pending_; }
  bool empty() const { return pending_.empty(); }
  // Above this, the PEs are not read from: they wait, as they would with a slow terminal.
  bool full() const { return pending_.size() > kMaxLineBytes; }

  // Writes as much as can be written without waiting. False if nobody can ever read it.
  bool flush();

 private:
  int descriptor_;
  std::string pending_;
};

}  // namespace gdakit::tools

// A line that shows how far a search is, on a terminal.
//
//   put-quiet  [#########...........]  45%  912 of 2000  5123/s  311 outcomes  0:03 left
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "sim/explore/explorer.h"

namespace gdakit::tools {

// The line's text, at most `columns` wide. `schedules` 0: no limit of executions is shown.
std::string progress_text(const std::string& name, const sim::Progress& progress,
                          std::uint64_t schedules, std::size_t columns);

class ProgressLine {
 public:
  // Writes nothing at all if `columns` is 0: `out` is no terminal then.
  ProgressLine(std::ostream& out, std::size_t columns) : out_(&out), columns_(columns) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shown() const { return columns_ > 0; }
  void show(const std::string& text);
  // Takes the line off the terminal, before other output.
  void clear();

 private:
  std::ostream* out_;
  std::size_t columns_;
  bool dirty_ = false;
};

// How wide the terminal at this descriptor is; 0 if it is none.
std::size_t terminal_columns(int descriptor);

}  // namespace gdakit::tools

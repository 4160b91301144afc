// Standard output of the `gdakit` command. What cannot be written to it is an error that says why:
// a result that was cut short must not count as success.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "core/base/result.h"

namespace gdakit::tools {

// A closed stdout becomes one to which every write fails, so that no file that is opened later gets
// its number and its text. A closed stdin or stderr becomes /dev/null. To be called first of all.
void hold_standard_descriptors();

// Takes the place of std::cout's buffer while it lives. A terminal gets each line at once.
class CheckedOutput final : public std::streambuf {
 public:
  CheckedOutput();
  ~CheckedOutput() override;
  CheckedOutput(const CheckedOutput&) = delete;
  CheckedOutput& operator=(const CheckedOutput&) = delete;

  // Writes what is left. An error if not all could be written since the beginning.
  Result<void> finish();

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  std::streambuf* before_;
  bool by_lines_;
  std::string pending_;
  int errno_ = 0;  // of the first write that failed
};

}  // namespace gdakit::tools

// A file that is written as a stream, whose first failure is kept.
#pragma once

#include <streambuf>
#include <string>

#include "core/base/file_descriptor.h"

namespace gdakit::tools {

class FileOutput final : public std::streambuf {
 public:
  explicit FileOutput(UniqueFileDescriptor fd) : fd_(std::move(fd)) {}

  // Writes what is left. The system's code of the first write that failed; 0: none has.
  int finish();

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type character) override;

 private:
  UniqueFileDescriptor fd_;
  std::string pending_;
  int error_ = 0;
};

}  // namespace gdakit::tools

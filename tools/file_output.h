// A file that is written as a stream, whose first failure is kept.
#pragma once

#include <atomic>
#include <streambuf>
#include <string>
#include <utility>

#include "core/base/file_descriptor.h"

namespace gdakit::tools {

class FileOutput final : public std::streambuf {
 public:
  // Once `interrupted`, each write fails with EINTR.
  FileOutput(UniqueFileDescriptor fd, const std::atomic<bool>& interrupted)
      : fd_(std::move(fd)), interrupted_(interrupted) {}

  // Writes what is left. The system's code of the first write that failed; 0: none has.
  int finish();

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int_type overflow(int_type character) override;

 private:
  UniqueFileDescriptor fd_;
  const std::atomic<bool>& interrupted_;
  std::string pending_;
  int error_ = 0;
};

}  // namespace gdakit::tools

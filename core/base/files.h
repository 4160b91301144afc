// Whole files, with the system's reason where that fails.
#pragma once

#include <string>
#include <string_view>
#include <sys/stat.h>

#include "core/base/result.h"

namespace gdakit {

// `what` is what the sentence calls it: "the litmus test". Code::not_found: there is no such file.
Result<std::string> read_file(const std::string& path, const std::string& what);

// What is there is replaced.
Result<void> write_file(const std::string& path, std::string_view text);

// The same, but whoever reads finds the old file or the new one whole. It is written as
// `next_path`, in the same file system, and then renamed.
Result<void> replace_file(const std::string& path, const std::string& next_path,
                          std::string_view text);

// Whether write_file could begin, for those who will have something to write much later. What is
// there stays as it is.
Result<void> try_to_write(const std::string& path);

// For such a trial, by whoever opens files in another way than write_file:
//
//   const WriteTrial trial(path);
//   if (trial.is_special()) return trial.special_error() == 0;
//   open(path);
//   trial.end();
class WriteTrial {
 public:
  explicit WriteTrial(std::string path);

  // A pipe, a device or a folder is there. It is not opened on trial: that would wait for a pipe's
  // reader, and tell the reader that all has been written.
  bool is_special() const { return is_there_ && !S_ISREG(status_.st_mode); }
  // Why this user may not write to it: the system's code, or 0.
  int special_error() const;
  const struct stat& status() const { return status_; }
  // Removes a file that opening has made. A link that names it stays.
  void end() const;

 private:
  std::string path_;
  struct stat status_ {};
  bool is_there_;
};

}  // namespace gdakit

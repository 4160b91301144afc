// The directory that the PEs of a job write their files to: one that the environment names, or one
// for the job alone.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"

namespace gdakit::tools {

// The whole path of a folder that is there then.
Result<std::string> make_folder(const std::string& path);

class JobDirectory {
 public:
  // `named`: what the environment says, or empty. `what` is in the name of one for the job alone:
  // "counters". Error: none can be made.
  static Result<JobDirectory> open(const std::string& named, const std::string& what);
  // One for the job alone goes with it.
  ~JobDirectory();
  JobDirectory(JobDirectory&& other) noexcept
      : path_(std::move(other.path_)), is_own_(std::exchange(other.is_own_, false)) {}
  JobDirectory& operator=(JobDirectory&&) = delete;

  const std::string& path() const { return path_; }
  bool is_own() const { return is_own_; }
  // It stays.
  void keep() { is_own_ = false; }

 private:
  JobDirectory(std::string path, bool is_own) : path_(std::move(path)), is_own_(is_own) {}

  std::string path_;
  bool is_own_;
};

}  // namespace gdakit::tools

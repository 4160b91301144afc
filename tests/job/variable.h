// A variable of this process, and so of what it starts, for as long as the object lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace gdakit::testing_job {

class Variable {
 public:
  // `before` is what it was, if it was set.
  Variable(std::string name, const std::string& value, std::optional<std::string> before = {})
      : name_(std::move(name)), before_(std::move(before)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace gdakit::testing_job

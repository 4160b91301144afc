// A run of the built `gdakit` command, or of another one, as a user's shell would start it.
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "core/base/file_descriptor.h"

namespace gdakit::testing_job {

using namespace std::chrono_literals;

struct Outcome {
  int status = -1;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
};

class Launched {
 public:
  // Runs `gdakit words...`, or another program; stdin holds `input`. With `hangup_ignored`, as
  // under nohup.
  explicit Launched(const std::vector<std::string>& words, const std::string& input = "",
                    bool hangup_ignored = false, const std::string& program = "");
  ~Launched() { wait(); }

  // The next line of its stdout.
  std::string line();
  void kill(int signal) const;
  // Nobody reads its stdout any more.
  void close_output() { output_.reset(); }
  // What it has printed since the last line(), and its exit status.
  const Outcome& wait();

 private:
  pid_t pid_ = -1;
  UniqueFileDescriptor output_;
  UniqueFileDescriptor errors_;
  Outcome outcome_;
  std::thread error_reader_;
};

inline Outcome gdakit(const std::vector<std::string>& words, const std::string& input = "") {
  return Launched(words, input).wait();
}

// Any command, by its words.
inline Outcome command(const std::vector<std::string>& words) {
  return Launched({words.begin() + 1, words.end()}, "", false, words.front()).wait();
}

// A job of `size` PEs that run a shell script.
std::vector<std::string> shell_job(int size, const std::string& script);

std::vector<std::string> lines_of(const std::string& text);

// True once process `pid` has ended; a zombie that nobody has waited for yet counts as ended.
bool ended_within(pid_t pid, std::chrono::milliseconds patience);

}  // namespace gdakit::testing_job

// A run of a built program, with what it printed and its exit status.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace gdakit::test {

struct Outcome {
  int status = -1;  // 128 + signal if it was killed
  std::string output;
  std::string errors;

  // Of what stands on stdout.
  std::string last_line() const {
    const std::size_t end = output.find_last_not_of('\n');
    if (end == std::string::npos) return "";
    const std::size_t begin = output.rfind('\n', end);
    return output.substr(begin + 1, end - begin);
  }
};

// A file of this test's own; it stays until the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text = "")
      : path_(std::filesystem::temp_directory_path() /
              ("gdakit-test-" + std::to_string(::getpid()) + "-" +
               std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path path_;
};

// Runs a shell command.
inline Outcome run(const std::string& command) {
  Outcome outcome;
  TemporaryFile errors;
  std::FILE* const pipe = ::popen((command + " 2>" + errors.path()).c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.output.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.errors = errors.text();
  return outcome;
}

}  // namespace gdakit::test

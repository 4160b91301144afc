// Files of the system below a root, so that a test can give a made-up tree. Nothing is ever
// written.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gdakit::tools::check {

class Tree {
 public:
  // Paths of the functions begin with "/"; this stands in front of them.
  explicit Tree(std::string root = {}) : root_(std::move(root)) {}

  bool has(const std::string& path) const;
  // The whole file without blanks at its end; nothing if it cannot be read.
  std::optional<std::string> read(const std::string& path) const;
  // ... as bytes, at most 4096 of them: PCI's configuration space.
  std::string read_bytes(const std::string& path) const;
  // Names in a folder, sorted; none of a folder that is not there.
  std::vector<std::string> list(const std::string& path) const;
  // Where links lead to, below the root; empty if nowhere.
  std::string real(const std::string& path) const;
  // Opens it to read and write, and closes it: 0, or the system's code.
  int try_to_open(const std::string& path) const;

 private:
  std::string root_;
};

}  // namespace gdakit::tools::check

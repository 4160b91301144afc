// What a folder that stands in for /sys holds: files with their text, and links.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace gdakit::softnic::uverbs {

class SysfsTree {
 public:
  explicit SysfsTree(std::filesystem::path lies_at) : lies_at_(std::move(lies_at)) {}

  void file(const std::filesystem::path& path, const std::string& text) {
    files_[path] = text + '\n';
  }
  // Without an end of line.
  void bytes(const std::filesystem::path& path, std::string all) { files_[path] = std::move(all); }
  // A link that says the whole way: one that follows it by itself, step by step, leaves the paths
  // that are answered in the place of /sys.
  void link(const std::filesystem::path& path, const std::filesystem::path& target) {
    links_[path] = lies_at_ / target;
  }

  // Into an empty folder. Throws filesystem_error.
  void write(const std::filesystem::path& root) const;

  // Whether the folder holds all of it and nothing else. Throws as well.
  bool is_in(const std::filesystem::path& root) const;

 private:
  bool has_link(const std::filesystem::path& root, const std::filesystem::path& path) const;
  bool has_file(const std::filesystem::path& root, const std::filesystem::path& path) const;

  std::filesystem::path lies_at_;
  std::map<std::filesystem::path, std::string> files_;
  std::map<std::filesystem::path, std::filesystem::path> links_;
};

}  // namespace gdakit::softnic::uverbs

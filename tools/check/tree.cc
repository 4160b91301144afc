#include "tools/check/tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace gdakit::tools::check {
namespace {

// A file of /sys or /proc that is read whole is never longer.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kConfigurationBytes = 4096;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
struct Free {
  void operator()(char* text) const { std::free(text); }
};

std::optional<std::string> read_at_most(const std::string& path, std::size_t most) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < most) {
    const std::size_t count = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), count);
    if (count < part.size()) break;
  }
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

}  // namespace

bool Tree::has(const std::string& path) const {
  return ::access((root_ + path).c_str(), F_OK) == 0;
}

std::optional<std::string> Tree::read(const std::string& path) const {
  std::optional<std::string> text = read_at_most(root_ + path, kMostBytes);
  if (text) text->erase(text->find_last_not_of(" \n\t") + 1);
  return text;
}

std::string Tree::read_bytes(const std::string& path) const {
  return read_at_most(root_ + path, kConfigurationBytes).value_or("");
}

std::vector<std::string> Tree::list(const std::string& path) const {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir((root_ + path).c_str()));
  std::vector<std::string> names;
  if (folder == nullptr) return names;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::string Tree::real(const std::string& path) const {
  const std::unique_ptr<char, Free> found(::realpath((root_ + path).c_str(), nullptr));
  if (found == nullptr) return {};
  const std::unique_ptr<char, Free> top(root_.empty() ? nullptr
                                                      : ::realpath(root_.c_str(), nullptr));
  const std::string whole = found.get();
  const std::string root = top != nullptr ? top.get() : "";
  return whole.starts_with(root) ? whole.substr(root.size()) : std::string();
}

int Tree::try_to_open(const std::string& path) const {
  const int file = ::open((root_ + path).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

}  // namespace gdakit::tools::check

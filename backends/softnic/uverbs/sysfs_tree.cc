#include "backends/softnic/uverbs/sysfs_tree.h"

#include <fstream>
#include <iterator>
#include <system_error>

namespace gdakit::softnic::uverbs {

namespace fs = std::filesystem;

void SysfsTree::write(const fs::path& root) const {
  for (const auto& [path, text] : files_) {
    fs::create_directories((root / path).parent_path());
    std::ofstream out(root / path);
    out << text;
    if (!out.flush()) throw fs::filesystem_error("cannot write", root / path, std::error_code());
  }
  for (const auto& [path, target] : links_) {
    fs::create_directories((root / path).parent_path());
    fs::create_symlink(target, root / path);
  }
}

bool SysfsTree::is_in(const fs::path& root) const {
  if (!fs::is_directory(fs::symlink_status(root))) return false;
  std::size_t found = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const fs::file_status status = entry.symlink_status();
    const fs::path path = entry.path().lexically_relative(root);
    if (fs::is_symlink(status) ? !has_link(root, path)
                               : !fs::is_directory(status) && !has_file(root, path)) {
      return false;
    }
    if (!fs::is_directory(status)) ++found;
  }
  return found == files_.size() + links_.size();
}

bool SysfsTree::has_link(const fs::path& root, const fs::path& path) const {
  const auto at = links_.find(path);
  return at != links_.end() && fs::read_symlink(root / path) == at->second;
}

bool SysfsTree::has_file(const fs::path& root, const fs::path& path) const {
  const auto at = files_.find(path);
  if (at == files_.end() || !fs::is_regular_file(fs::symlink_status(root / path))) return false;
  std::ifstream in(root / path);
  return std::string(std::istreambuf_iterator<char>(in), {}) == at->second;
}

}  // namespace gdakit::softnic::uverbs

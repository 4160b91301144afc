#include "tools/job_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace gdakit::tools {

Result<JobDirectory> JobDirectory::open(const std::string& named, const std::string& what) {
  if (!named.empty()) return JobDirectory(named, false);
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return Error::from_errno("there is no directory for temporary files", error.value());
  std::string path = parent / ("gdakit-" + what + "-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return Error::from_errno(path + " cannot be made", errno);
  return JobDirectory(path, true);
}

JobDirectory::~JobDirectory() {
  std::error_code ignored;
  if (is_own_) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Error::from_errno(path + " cannot be made", error.value());
  return std::filesystem::absolute(path).string();
}

}  // namespace gdakit::tools

// tshark, which is not ours, as a reader of captures.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit::softnic::roce::test {

inline bool tshark_is_installed() { return std::system("command -v tshark > /dev/null") == 0; }
inline constexpr const char* kNoTshark = "no tshark (Debian package: tshark)";

// A folder of the test's own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "gdakit_capture_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

using Rows = std::vector<std::vector<std::string>>;

inline std::vector<std::string> split_row(std::string_view line, std::size_t count) {
  std::vector<std::string> parts(count);
  std::istringstream in{std::string(line.substr(0, line.find('\n')))};
  for (std::string& part : parts) std::getline(in, part, ';');
  return parts;
}

// What tshark says of each packet: the fields, of which one that a packet lacks is empty.
inline Rows read_by_tshark(const std::string& capture, const std::vector<std::string>& fields) {
  // The user's settings are not asked, and nothing is guessed from the bytes of a payload.
  const TemporaryFolder settings;
  std::string command = "WIRESHARK_CONFIG_DIR='" + settings.path().string() + "' tshark -n -r '" +
                        capture +
                        "' -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE"
                        " -T fields -E separator=';'";
  for (const char* guessed : {"rpcordma", "smc", "smb_direct", "nvme-rdma", "lnet", "iser"}) {
    command += std::string(" --disable-protocol ") + guessed;
  }
  for (const std::string& field : fields) command += " -e " + field;
  Rows rows;
  const std::string errors = settings / "errors";
  FILE* const output = ::popen((command + " 2> '" + errors + "'").c_str(), "r");
  if (output == nullptr) throw std::runtime_error("popen failed: " + command);
  std::array<char, 1 << 17> line;
  while (std::fgets(line.data(), line.size(), output) != nullptr) {
    rows.push_back(split_row(line.data(), fields.size()));
  }
  EXPECT_EQ(::pclose(output), 0) << command << ": " << std::ifstream(errors).rdbuf();
  return rows;
}

// All ones where a packet has no such field.
inline std::uint64_t number(const std::string& text) {
  return text.empty() ? ~std::uint64_t{0} : std::strtoull(text.c_str(), nullptr, 0);
}

}  // namespace gdakit::softnic::roce::test

#include "backends/softnic/wire/udp_holder.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace gdakit::softnic {
namespace {

namespace fs = std::filesystem;

// As /proc/net/udp and udp6 have it: words as the processor reads them, and the port.
std::string row_address(const UdpAddress& address) {
  std::string text;
  char digits[16];
  for (std::size_t word = 0; word < (address.ip.is_v6 ? 4u : 1u); ++word) {
    std::uint32_t value;
    std::memcpy(&value, address.ip.bytes.data() + 4 * word, sizeof value);
    std::snprintf(digits, sizeof digits, "%08X", value);
    text += digits;
  }
  std::snprintf(digits, sizeof digits, ":%04X", unsigned{address.port});
  return text + digits;
}

struct Row {
  std::string user;
  std::string inode;
};

std::optional<Row> find_row(const std::string& table, const UdpAddress& address) {
  UdpAddress all = address;
  all.ip.bytes = {};
  std::ifstream rows(table);
  std::string line;
  while (std::getline(rows, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, timeout;
    Row row;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> row.user >>
        timeout >> row.inode;
    if (local == row_address(address) || local == row_address(all)) return row;
  }
  return std::nullopt;
}

bool holds(const fs::path& process, const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) == socket) return true;
  }
  return false;
}

// "process 4711 (ring_shift)", or nothing.
std::string process_with(const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string pid = at->path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](unsigned char c) { return std::isdigit(c); }) ||
        !holds(at->path(), socket)) {
      continue;
    }
    std::string name;
    std::getline(std::ifstream(at->path() / "comm"), name);
    return "process " + pid + " (" + name + ")";
  }
  return "";
}

}  // namespace

std::string udp_holder(const UdpAddress& address) {
  const auto row = find_row(address.ip.is_v6 ? "/proc/net/udp6" : "/proc/net/udp", address);
  if (!row) return "";
  const std::string process = process_with("socket:[" + row->inode + "]");
  return (process.empty() ? "a process" : process) + " of user " + row->user;
}

}  // namespace gdakit::softnic

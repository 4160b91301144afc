#include "backends/softnic/uverbs/fabric_names.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/uverbs/socket_name.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr int kNamedSocket = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

}  // namespace

std::string fabric_prefix(const std::string& fabric) {
  struct stat processes {};
  static_cast<void>(::stat("/proc/self/ns/pid", &processes));
  return kFabricNames + std::to_string(::getuid()) + "/" + std::to_string(processes.st_ino) + "/" +
         fabric + "/";
}

std::optional<KeptFile> take_name(const std::string& name) {
  const OpeningOwnFiles opening;
  KeptFile socket = keep_file(UniqueFileDescriptor(::socket(AF_UNIX, kNamedSocket, 0)));
  const SocketName at(name);
  if (!socket || at.bytes == 0) return std::nullopt;
  if (::bind(socket.get(), at.get(), at.bytes) != 0) return std::nullopt;
  return socket;
}

SocketNames::SocketNames() {
  const OpeningOwnFiles opening;
  list_ = keep_file(UniqueFileDescriptor(::open("/proc/net/unix", O_RDONLY | O_CLOEXEC)));
}

// The system goes on by place from one piece to the next, so that a socket that goes meanwhile may
// hide another one.
std::string SocketNames::read_once() {
  std::string text;
  std::array<char, 8192> piece;
  ::lseek(list_.get(), 0, SEEK_SET);
  for (ssize_t bytes = 0; (bytes = ::read(list_.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

std::vector<std::string> SocketNames::beginning_with(const std::string& begin) {
  std::vector<std::string> names;
  std::istringstream lines(read_once() + read_once());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("@" + begin);
    if (at != std::string::npos) names.push_back(line.substr(at + 1));
  }
  // A socket's connections are listed under its own name.
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace gdakit::softnic::uverbs

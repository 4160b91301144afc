#include "backends/softnic/uverbs/fabric.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kLockPatience = 10s;

// Of sockets in the abstract name space: gdakit-verbs/<user>/<processes>/<fabric>/... Names are of
// a network's name space, and numbers of processes of one of their own, which several containers of
// a network may have each: those who cannot see each other's processes do not meet.
std::string prefix(const std::string& fabric) {
  struct stat processes {};
  static_cast<void>(::stat("/proc/self/ns/pid", &processes));
  return "gdakit-verbs/" + std::to_string(::getuid()) + "/" + std::to_string(processes.st_ino) +
         "/" + fabric + "/";
}

// A socket of this name, which nobody else has; nothing if somebody does.
std::optional<OwnFile> take_name(const std::string& name) {
  OwnFile socket = own_socket(AF_UNIX, SOCK_DGRAM);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket || name.size() + 1 > sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    return std::nullopt;
  }
  return socket;
}

// Only one process at a time looks for the fabric, or makes it.
Result<OwnFile> lock(const std::string& fabric) {
  const auto limit = std::chrono::steady_clock::now() + kLockPatience;
  while (std::chrono::steady_clock::now() < limit) {
    if (auto socket = take_name(prefix(fabric) + "lock")) return std::move(*socket);
    std::this_thread::sleep_for(1ms);
  }
  return Error(Code::timed_out, "join_fabric: another process has held the fabric " + fabric +
                                    " locked for 10 s; take another name (--fabric)");
}

// Paths of the segment as its members have it: those who live, and names that others have made up.
std::vector<std::string> member_paths(const std::string& fabric) {
  const std::string begin = "@" + prefix(fabric) + "member/";
  std::vector<std::string> paths;
  std::ifstream list("/proc/net/unix");
  for (std::string line; std::getline(list, line);) {
    const std::size_t at = line.find(begin);
    if (at == std::string::npos) continue;
    const std::string member = line.substr(at + begin.size());  // <pid>/<fd>/<place>
    const std::size_t pid_end = member.find('/');
    const std::size_t fd_end = member.find('/', pid_end + 1);
    if (pid_end == std::string::npos || fd_end == std::string::npos) continue;
    paths.push_back("/proc/" + member.substr(0, pid_end) + "/fd/" +
                    member.substr(pid_end + 1, fd_end - pid_end - 1));
  }
  return paths;
}

// Others can make up names, but no segment of this user's.
bool is_own_segment(const std::string& path) {
  struct stat status {};
  std::error_code error;
  const std::string file = std::filesystem::read_symlink(path, error).string();
  return file.starts_with("/memfd:gdakit-wire") && ::stat(path.c_str(), &status) == 0 &&
         status.st_uid == ::getuid();
}

Result<std::shared_ptr<ShmSegment>> find_or_create(const std::string& fabric) {
  std::optional<Error> wrong;
  for (const std::string& path : member_paths(fabric)) {
    if (!is_own_segment(path)) continue;
    Result<std::shared_ptr<ShmSegment>> segment = ShmSegment::open(path);
    if (segment) return segment;
    wrong = segment.error();
  }
  if (wrong) return wrong->within("join_fabric: the fabric " + fabric);
  ShmOptions options;
  options.endpoints = kPlaces;
  options.rooms = 128;
  return ShmSegment::create(options);
}

}  // namespace

Result<Membership> join_fabric(const std::string& name) {
  const Result<OwnFile> locked = lock(name);
  if (!locked) return locked.error();
  const Result<std::shared_ptr<ShmSegment>> segment = find_or_create(name);
  if (!segment) return segment.error();
  for (Endpoint place = 0; place < kPlaces; ++place) {
    Result<std::unique_ptr<ShmWire>> wire = (*segment)->attach(place);
    if (!wire) continue;
    (*segment)->move_file(least_own_number());
    OwnMark file = mark_own((*segment)->file());
    const std::string member = prefix(name) + "member/" + std::to_string(::getpid()) + "/" +
                               std::to_string(file.get()) + "/" + std::to_string(place);
    auto listed = take_name(member);
    if (!listed) return Error::from_errno("join_fabric: the name " + member, errno);
    return Membership{std::move(*wire), std::move(file), std::move(*listed)};
  }
  return Error(Code::exhausted, "join_fabric: all " + std::to_string(kPlaces) +
                                    " places of the fabric " + name +
                                    " are taken; end a program, or take another fabric");
}

}  // namespace gdakit::softnic::uverbs

#include "backends/softnic/uverbs/fabric.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "backends/softnic/uverbs/fabric_names.h"
#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/wire/shm_wire.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace std::chrono_literals;

constexpr auto kLockPatience = 10s;

constexpr const char* kMember = "member/";

// Only one process at a time looks for the fabric, or makes it.
Result<KeptFile> lock(const std::string& fabric) {
  const auto limit = std::chrono::steady_clock::now() + kLockPatience;
  while (std::chrono::steady_clock::now() < limit) {
    if (auto socket = take_name(fabric_prefix(fabric) + "lock")) return std::move(*socket);
    std::this_thread::sleep_for(1ms);
  }
  return Error(Code::timed_out, "join_fabric: another process has held the fabric " + fabric +
                                    " locked for 10 s; take another name (--fabric)");
}

// What is behind the prefix: <pid>/<fd>/<place>.
std::optional<Member> parse_member(const std::string& name, std::size_t prefix_bytes) {
  Member member;
  member.name = name;
  int end = 0;
  const char* const numbers = name.c_str() + prefix_bytes;
  const int found = std::sscanf(numbers, "%d/%d/%" SCNu32 "%n", &member.pid, &member.segment,
                                &member.place, &end);
  if (found != 3 || numbers[end] != '\0' || member.place >= kPlaces) return std::nullopt;
  return member;
}

// A mapping keeps the file open, and with it the lock by which a place is held (wire/shm_wire.h): a
// child that lives longer than this process would hold it for ever.
Result<std::shared_ptr<ShmSegment>> left_from_children(
    Result<std::shared_ptr<ShmSegment>> segment) {
  if (segment) ::madvise((*segment)->at(0), (*segment)->layout().total(), MADV_DONTFORK);
  return segment;
}

// Others can make up names, but no segment of this user's. What the name leads to is looked up
// once, and neither opened nor waited for before it is known.
std::optional<Result<std::shared_ptr<ShmSegment>>> segment_of(const Member& member) {
  const std::string listed =
      "/proc/" + std::to_string(member.pid) + "/fd/" + std::to_string(member.segment);
  const UniqueFileDescriptor found(::open(listed.c_str(), O_PATH | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(found.get());
  struct stat status {};
  std::error_code error;
  const std::string file = std::filesystem::read_symlink(path, error).string();
  if (!file.starts_with("/memfd:gdakit-wire") || ::fstat(found.get(), &status) != 0 ||
      status.st_uid != ::getuid()) {
    return std::nullopt;
  }
  const OpeningOwnFiles opening;
  return left_from_children(ShmSegment::open(path));
}

Result<std::shared_ptr<ShmSegment>> find_or_create(const std::string& fabric) {
  std::optional<Error> wrong;
  for (const Member& member : fabric_members(fabric)) {
    const auto segment = segment_of(member);
    if (!segment) continue;
    if (*segment) return *segment;
    wrong = segment->error();
  }
  if (wrong) return wrong->within("join_fabric: the fabric " + fabric);
  ShmOptions options;
  options.endpoints = kPlaces;
  options.rooms = 128;
  const OpeningOwnFiles opening;
  return left_from_children(ShmSegment::create(options));
}

}  // namespace

std::vector<Member> fabric_members(const std::string& fabric) {
  SocketNames names;
  return fabric_members(fabric, names);
}

std::vector<Member> fabric_members(const std::string& fabric, SocketNames& names) {
  const std::string begin = fabric_prefix(fabric) + kMember;
  std::vector<Member> members;
  for (const std::string& name : names.beginning_with(begin)) {
    if (auto member = parse_member(name, begin.size())) members.push_back(std::move(*member));
  }
  std::ranges::sort(members, {}, [](const Member& one) { return std::tie(one.place, one.name); });
  return members;
}

Result<Membership> join_fabric(const std::string& name) {
  const Result<KeptFile> locked = lock(name);
  if (!locked) return locked.error();
  const Result<std::shared_ptr<ShmSegment>> segment = find_or_create(name);
  if (!segment) return segment.error();
  for (Endpoint place = 0; place < kPlaces; ++place) {
    Result<std::unique_ptr<ShmWire>> wire = (*segment)->attach(place);
    if (!wire) continue;
    const std::string member = fabric_prefix(name) + kMember + std::to_string(::getpid()) + "/" +
                               std::to_string((*segment)->file()) + "/" + std::to_string(place);
    auto listed = take_name(member);
    if (!listed || ::listen(listed->get(), SOMAXCONN) != 0) {
      return Error::from_errno("join_fabric: the name " + member, errno);
    }
    return Membership{std::move(*wire), std::move(*listed)};
  }
  return Error(Code::exhausted, "join_fabric: all " + std::to_string(kPlaces) +
                                    " places of the fabric " + name +
                                    " are taken; end a program, or take another fabric");
}

unsigned MemberCounter::count() {
  const auto is_member = [](const std::string& name) {
    return name.find(std::string("/") + kMember) != std::string::npos;
  };
  return static_cast<unsigned>(
      std::ranges::count_if(names_.beginning_with(kFabricNames), is_member));
}

}  // namespace gdakit::softnic::uverbs

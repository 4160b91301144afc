#include "backends/softnic/uverbs/multicast_groups.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace gdakit::softnic::uverbs {

// Names are short: of the group stands a number (FNV-1a), which no two groups of a host share.
std::string MulticastGroups::begin_of(const Gid& group) const {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const std::uint8_t byte : group) value = (value ^ byte) * 0x100000001b3;
  char name[18];
  std::snprintf(name, sizeof name, "%016" PRIx64 "/", value);
  return prefix_ + name;
}

std::optional<KeptFile> MulticastGroups::join(const Gid& group, QpNumber qpn) const {
  return take_name(begin_of(group) + std::to_string(qpn));
}

const std::vector<QpNumber>& MulticastGroups::members(const Gid& group, std::uint64_t now_ns) {
  constexpr std::size_t kMostKnown = 256;
  if (!names_) names_.emplace();
  if (known_.size() > kMostKnown) known_.clear();
  Known& known = known_[group];
  if (now_ns < known.until_ns) return known.members;
  known.until_ns = now_ns + kDelayNs;
  known.members.clear();
  const std::string begin = begin_of(group);
  for (const std::string& name : names_->beginning_with(begin)) {
    const std::string number = name.substr(begin.size());
    known.members.push_back(static_cast<QpNumber>(std::strtoul(number.c_str(), nullptr, 10)));
  }
  return known.members;
}

}  // namespace gdakit::softnic::uverbs

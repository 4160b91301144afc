#include "backends/mlx5/gids.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>

namespace gdakit::mlx5 {
namespace {

// All hosts prefer IPv4: the order of a table is that in which addresses came up.
int rank_of(const ibv_gid_entry& entry) {
  const GidChoice::Gid gid = bytes_of(entry.gid);
  switch (entry.gid_type) {
    case IBV_GID_TYPE_IB: return 1;
    case IBV_GID_TYPE_ROCE_V1: return is_link_local(gid) ? 1 : 2;
    case IBV_GID_TYPE_ROCE_V2: return is_link_local(gid) ? 3 : is_ipv4(gid) ? 5 : 4;
    default: return 0;
  }
}

bool is_chosen(const GidChoice& choice, const ibv_gid_entry& entry) {
  if (choice.index()) return *choice.index() == entry.gid_index;
  if (entry.gid_type == IBV_GID_TYPE_IB) return true;
  return choice.allows(bytes_of(entry.gid), entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 1);
}

const char* type_name(std::uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_IB: return "InfiniBand";
    case IBV_GID_TYPE_ROCE_V1: return "RoCE v1";
    case IBV_GID_TYPE_ROCE_V2: return "RoCE v2";
    default: return "unknown";
  }
}

}  // namespace

GidChoice::Gid bytes_of(const ibv_gid& gid) {
  GidChoice::Gid bytes{};
  std::ranges::copy(gid.raw, bytes.begin());
  return bytes;
}

bool is_link_local(const GidChoice::Gid& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

std::string text_of(const GidChoice::Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
}

int read_gid(const Libraries& libraries, ibv_context* context, std::uint8_t port,
             std::uint32_t index, ibv_gid_entry& entry) {
  constexpr std::uint32_t kUnanswered = ~std::uint32_t{0};
  entry = {};
  entry.gid_type = kUnanswered;
  const int code = libraries.query_gid(context, port, index, &entry, 0, sizeof entry);
  if (code != 0) return code;
  if (entry.gid_type == kUnanswered) return EBADMSG;
  return bytes_of(entry.gid) == GidChoice::Gid{} ? ENODATA : 0;
}

std::optional<ibv_gid_entry> GidTable::at(int index) const {
  ibv_gid_entry entry{};
  const auto number = static_cast<std::uint32_t>(index);
  const int code = read_gid(libraries_, context_, port_, number, entry);
  if (code != 0) return errno = code, std::nullopt;
  entry.gid_index = number;
  return rank_of(entry) == 0 ? std::nullopt : std::optional(entry);
}

Result<ibv_gid_entry> GidTable::choose(const GidChoice& choice) const {
  std::optional<ibv_gid_entry> best;
  for (int index = 0; index < places_; ++index) {
    const std::optional<ibv_gid_entry> entry = at(index);
    if (!entry || !is_chosen(choice, *entry)) continue;
    if (!best || rank_of(*entry) > rank_of(*best)) best = entry;
  }
  if (best) return *best;
  return none(choice);
}

Error GidTable::none(const GidChoice& choice) const {
  std::string there;
  int failed = 0;
  for (int index = 0; index < places_; ++index) {
    errno = 0;
    const std::optional<ibv_gid_entry> entry = at(index);
    if (!entry && errno != 0 && errno != ENODATA) failed = errno;
    if (!entry) continue;
    there += (there.empty() ? "" : "; ") + std::to_string(index) + " is " +
             text_of(bytes_of(entry->gid)) + ", " + type_name(entry->gid_type);
  }
  if (failed != 0 && there.empty()) {
    return Error::from_errno("has no GID that can be read: ibv_query_gid_ex", failed);
  }
  if (there.empty()) {
    return Error(Code::unavailable,
                 "has no GID: `show_gids` shows them; its network interface may be down");
  }
  return Error(Code::unavailable,
               "has no GID of GDAKIT_GID=" + choice.text() + ", but these: " + there);
}

bool GidTable::has(const ibv_gid_entry& entry, int index) const {
  const std::optional<ibv_gid_entry> other = at(index);
  return other && other->gid_type == entry.gid_type && other->ndev_ifindex == entry.ndev_ifindex &&
         bytes_of(other->gid) == bytes_of(entry.gid);
}

std::optional<std::uint8_t> GidTable::find(const ibv_gid_entry& entry) const {
  const auto before = static_cast<std::uint8_t>(entry.gid_index);
  if (has(entry, before)) return before;
  for (int index = 0; index < places_; ++index) {
    if (has(entry, index)) return static_cast<std::uint8_t>(index);
  }
  return std::nullopt;
}

}  // namespace gdakit::mlx5

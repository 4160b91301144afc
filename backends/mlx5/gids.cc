#include "backends/mlx5/gids.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>

namespace gdakit::mlx5 {
namespace {

// No type of a GID: what a call that does not answer leaves behind.
constexpr std::uint32_t kUnanswered = ~std::uint32_t{0};

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

bool is_same(const ibv_gid_entry& one, const ibv_gid_entry& other) {
  return one.gid_type == other.gid_type && one.ndev_ifindex == other.ndev_ifindex &&
         bytes_of(one.gid) == bytes_of(other.gid);
}

// By a command of this port's.
bool can_be_named(const ibv_gid_entry& entry, std::uint8_t port) {
  return entry.port_num == port && entry.gid_index < 256 && rank_of(entry) != 0 &&
         bytes_of(entry.gid) != GidChoice::Gid{};
}

const char* type_name(std::uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_IB: return "InfiniBand";
    case IBV_GID_TYPE_ROCE_V1: return "RoCE v1";
    case IBV_GID_TYPE_ROCE_V2: return "RoCE v2";
    default: return "unknown";
  }
}

Error none(const std::vector<ibv_gid_entry>& all, const GidChoice& choice) {
  if (all.empty()) {
    return Error(Code::unavailable,
                 "has no GID: `show_gids` shows them; its network interface may be down");
  }
  std::string there;
  for (const ibv_gid_entry& entry : all) {
    there += (there.empty() ? "" : "; ") + std::to_string(entry.gid_index) + " is " +
             text_of(bytes_of(entry.gid)) + ", " + type_name(entry.gid_type);
  }
  return Error(Code::unavailable,
               "has no GID of GDAKIT_GID=" + choice.text() + ", but these: " + there);
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

Result<std::vector<ibv_gid_entry>> GidTable::entries() const {
  constexpr std::size_t kMostOfADevice = 65536;  // of all its ports
  for (std::size_t room = 256;; room *= 4) {
    ibv_gid_entry unanswered{};
    unanswered.gid_type = kUnanswered;
    std::vector<ibv_gid_entry> all(room, unanswered);
    const ssize_t count =
        libraries_.query_gid_table(context_, all.data(), room, /*flags=*/0, sizeof unanswered);
    if (count == -EINVAL && room < kMostOfADevice) continue;  // there are more
    const int code = count < 0 ? static_cast<int>(-count) : 0;
    if (code != 0) return Error::from_errno("ibv_query_gid_table", code);
    all.resize(std::min(static_cast<std::size_t>(count), room));
    if (std::ranges::find(all, kUnanswered, &ibv_gid_entry::gid_type) != all.end()) {
      return Error::from_errno("ibv_query_gid_table", EBADMSG);
    }
    std::erase_if(all, [this](const ibv_gid_entry& one) { return !can_be_named(one, port_); });
    return all;
  }
}

Result<ibv_gid_entry> GidTable::choose(const GidChoice& choice) const {
  const Result<std::vector<ibv_gid_entry>> all = entries();
  if (!all) return all.error().within("has no GID that can be read");
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& entry : *all) {
    if (!is_chosen(choice, entry)) continue;
    if (best == nullptr || rank_of(entry) > rank_of(*best)) best = &entry;
  }
  return best != nullptr ? Result<ibv_gid_entry>(*best) : none(*all, choice);
}

// One call for one place, where a table of all takes the kernel longer.
bool GidTable::is_where_it_was(const ibv_gid_entry& entry) const {
  ibv_gid_entry there{};
  there.gid_type = kUnanswered;
  const int code =
      libraries_.query_gid(context_, port_, entry.gid_index, &there, /*flags=*/0, sizeof there);
  return code == 0 && is_same(there, entry);
}

Result<std::uint8_t> GidTable::find(const ibv_gid_entry& entry) const {
  if (is_where_it_was(entry)) return static_cast<std::uint8_t>(entry.gid_index);
  const Result<std::vector<ibv_gid_entry>> all = entries();
  if (!all) return all.error();
  for (const ibv_gid_entry& other : *all) {
    if (is_same(other, entry)) return static_cast<std::uint8_t>(other.gid_index);
  }
  return Error(Code::not_found, "the GID " + text_of(bytes_of(entry.gid)) + " is not there");
}

}  // namespace gdakit::mlx5

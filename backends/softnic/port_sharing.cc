#include "backends/softnic/port_sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/host/sharing/handle_exchange.h"

namespace gdakit::softnic {
namespace {

// Where a PE's NIC wants to be. Without padding; whatever bytes come are a place.
struct PlaceCard {
  decltype(roce::IpAddress::bytes) ip{};
  std::uint8_t is_v6 = 0;
  std::uint8_t has_port = 0;
  std::uint16_t port = 0;

  bool operator==(const PlaceCard&) const = default;
};
static_assert(sizeof(PlaceCard) == 20);

PlaceCard card_of(const NicPlace& place) {
  return {place.address.ip.bytes, place.address.ip.is_v6 ? std::uint8_t{1} : std::uint8_t{0},
          place.has_port ? std::uint8_t{1} : std::uint8_t{0}, place.address.port};
}

// Each of them holds the sockets of all, and gets them in one exchange.
constexpr std::size_t kMostSharers = 64;

// By PE, the first one of its host that wants the same place.
std::vector<std::size_t> find_firsts(const std::vector<PlaceCard>& cards, const Hosts& hosts) {
  std::vector<std::size_t> firsts;
  for (std::size_t pe = 0; pe < cards.size(); ++pe) {
    // A port that the system is to choose is another one for each.
    const bool shares = cards[pe].port != 0;
    std::size_t first = 0;
    while (first < pe && !(shares && hosts.are_near(first, pe) && cards[first] == cards[pe])) {
      ++first;
    }
    firsts.push_back(first);
  }
  return firsts;
}

std::string crowd_text(std::size_t pes, const PlaceCard& card) {
  const UdpAddress address{{card.ip, card.is_v6 != 0}, card.port};
  return "GDAKIT_NIC_ADDRESS: " + std::to_string(pes) + " PEs of a host want " + address.text() +
         ", and " + std::to_string(kMostSharers) + " at most share a port";
}

// Who wants to be where: like Hosts, of those PEs of a host that want one place. More than there
// may be share nothing, which the first of them says. Error, of all PEs alike: more have named one
// port.
Result<Hosts> find_sharers(const Options& options, Bootstrap& bootstrap, const NicPlace& place,
                           const Hosts& hosts) {
  const auto cards = allgather_value(bootstrap, card_of(place));
  if (!cards) return cards.error();
  std::vector<std::size_t> firsts = find_firsts(*cards, hosts);
  const Hosts all(firsts);
  for (std::size_t pe = 0; pe < firsts.size(); ++pe) {
    const std::size_t count = all.members(pe).size();
    if (count <= kMostSharers) continue;
    const PlaceCard& card = (*cards)[pe];
    if (card.has_port != 0) {
      return Error(Code::invalid_argument,
                   crowd_text(count, card) +
                       "; give some of them another address of the host, or name no port, and each "
                       "of them takes one of its own");
    }
    if (all.first(pe) == pe && static_cast<std::size_t>(bootstrap.rank()) == pe) {
      Log(options.log, bootstrap.rank())
          .warn(crowd_text(count, card) +
                ": each of these takes one of its own. To share ports, give some of them another "
                "address of the host");
    }
    firsts[pe] = pe;
  }
  return Hosts(std::move(firsts));
}

// As an exchange takes them: all, or none where this process has no room for more descriptors.
std::vector<SharedChunk> duplicates_of(const std::vector<UdpSocket>& sockets) {
  std::vector<SharedChunk> chunks;
  for (const UdpSocket& socket : sockets) {
    UniqueFileDescriptor copy = socket.duplicate();
    if (!copy) return {};
    chunks.push_back({std::move(copy)});
  }
  return chunks;
}

// The sockets of this PE's port, in the order of its sharers. The first PE of those makes them.
Result<std::vector<UdpSocket>> share_sockets(const Options& options, Bootstrap& bootstrap,
                                             const NicPlace& place, const Hosts& sharers) {
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  const auto count = static_cast<std::uint32_t>(sharers.members(rank).size());
  auto exchange = HandleExchange::open(bootstrap, options.timeout, sharers.near(rank));
  if (!exchange) return exchange.error();
  Result<std::vector<UdpSocket>> own = std::vector<UdpSocket>();
  if (sharers.first(rank) == rank && count > 1) own = open_shared_at(place, count);
  const std::vector<SharedChunk> mine = own ? duplicates_of(*own) : std::vector<SharedChunk>();
  if (own && mine.size() != own->size()) own = Error::from_errno("descriptors of sockets", EMFILE);
  auto given = (*exchange)->exchange(mine);
  if (!given) return given.error();
  if (sharers.first(rank) == rank) return own;
  std::vector<UdpSocket> sockets;
  for (SharedChunk& chunk : (*given)[sharers.first(rank)]) {
    Result<UdpSocket> socket = UdpSocket::adopt(std::move(chunk.descriptor));
    if (!socket) return socket.error();
    sockets.push_back(std::move(*socket));
  }
  if (sockets.size() == count) return sockets;
  return Error(Code::unavailable, "PE " + std::to_string(sharers.first(rank)) + " shares no port");
}

// Whether all PEs have what they share, and all that share with this one.
struct Shares {
  bool everywhere;
  bool here;
};

Result<Shares> find_shares(Bootstrap& bootstrap, bool has, const std::vector<Endpoint>& members) {
  const auto every = allgather_value(bootstrap, has ? std::uint8_t{1} : std::uint8_t{0});
  if (!every) return every.error();
  const auto is_set = [](std::uint8_t one) { return one != 0; };
  return Shares{std::ranges::all_of(*every, is_set),
                std::ranges::all_of(members, [&](Endpoint pe) { return is_set((*every)[pe]); })};
}

Result<OpenPort> own_port(const NicPlace& place) {
  Result<UdpSocket> socket = open_at(place);
  if (!socket) return socket.error();
  return OpenPort{UdpPort(std::move(*socket)), {}};
}

// Of sockets that came in the order of `members`.
Result<OpenPort> shared_port(std::vector<UdpSocket> sockets, const std::vector<Endpoint>& members,
                             std::size_t rank) {
  const auto index =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  Result<UdpSocket> sender = UdpSocket::open({sockets[index].address().ip, 0});
  if (!sender) return sender.error();
  OpenPort open{
      UdpPort(std::move(sockets[index])),
      PortShare::of(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(members.size()))};
  open.port.sender = std::move(*sender);
  sockets.erase(sockets.begin() + static_cast<std::ptrdiff_t>(index));
  open.port.others = std::move(sockets);
  return open;
}

}  // namespace

Result<OpenPort> open_port(const Options& options, Bootstrap& bootstrap, const NicPlace& place,
                           const Hosts& hosts) {
  const Result<Hosts> sharers = find_sharers(options, bootstrap, place, hosts);
  if (!sharers) return sharers.error();
  if (sharers->are_apart()) return own_port(place);
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  const std::vector<Endpoint> members = sharers->members(rank);
  auto sockets = share_sockets(options, bootstrap, place, *sharers);
  const bool has_all = static_cast<bool>(sockets);
  const Result<Shares> shares = find_shares(bootstrap, has_all, members);
  if (!shares) return shares.error();
  if (!has_all) {
    Log(options.log, bootstrap.rank())
        .warn("NICs of this host do not share a UDP port: " + sockets.error().message());
  }
  if (!shares->here) sockets = std::vector<UdpSocket>();
  if (!shares->everywhere) {
    // Where they are given up they are gone before a port is asked for again.
    if (const Result<> met = bootstrap.barrier(); !met) return met.error();
  }
  if (!shares->here || members.size() == 1) return own_port(place);
  return shared_port(std::move(*sockets), members, rank);
}

}  // namespace gdakit::softnic

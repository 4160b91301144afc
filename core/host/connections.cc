#include "core/host/connections.h"

#include <algorithm>
#include <string>

#include "core/base/connect_choice.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/bootstrap/same_on_all_pes.h"
#include "core/host/local_rank.h"

namespace gdakit {
namespace {

struct PlaceCard {
  HostName host;
  std::int32_t local_rank;
};

Result<void> agree_on_choice(const Options& options, Bootstrap& bootstrap) {
  const auto cards = bootstrap.allgather(to_bytes(options.connect.data(), options.connect.size()));
  if (!cards) return cards.error();
  return check_same("GDAKIT_CONNECT", *cards, [](const Bytes& text) {
    return std::string(reinterpret_cast<const char*>(text.data()), text.size());
  });
}

// The number of a host is that of its first PE.
Result<std::vector<PlaceOfPe>> find_places(const Options& options, Bootstrap& bootstrap) {
  PlaceCard mine{};
  mine.host = this_host();
  mine.local_rank = static_cast<std::int32_t>(local_rank_of(options, bootstrap));
  const auto cards = allgather_value(bootstrap, mine);
  if (!cards) return cards.error();
  std::vector<PlaceOfPe> places;
  for (const PlaceCard& card : *cards) {
    const auto first = std::ranges::find(*cards, card.host, &PlaceCard::host);
    places.push_back({static_cast<int>(places.size()), static_cast<int>(first - cards->begin()),
                      card.local_rank});
  }
  return places;
}

}  // namespace

Result<std::vector<int>> first_peers(const Options& options, Bootstrap& bootstrap,
                                     const TransportMap& transports) {
  if (auto same = agree_on_choice(options, bootstrap); !same) return same.error();
  const auto choice = ConnectChoice::parse(options.connect);
  if (!choice || choice->last_named() >= bootstrap.size()) {
    return Error(Code::invalid_argument,
                 "GDAKIT_CONNECT=" + options.connect + ": " +
                     (choice ? "the job has " + std::to_string(bootstrap.size()) +
                                   " PEs; give numbers below that"
                             : "allowed is all, none, rails, or numbers of PEs as 0-3,8"));
  }
  const auto places = find_places(options, bootstrap);
  if (!places) return places.error().within("GDAKIT_CONNECT");
  std::vector<int> peers;
  const PlaceOfPe& mine = (*places)[static_cast<std::size_t>(bootstrap.rank())];
  for (const PlaceOfPe& other : *places) {
    if (choice->connects(mine, other) || transports.is_direct(other.pe)) peers.push_back(other.pe);
  }
  return peers;
}

Result<std::vector<int>> more_peers(Bootstrap& bootstrap, const std::vector<int>& wanted,
                                    const std::vector<int>& known) {
  const int n = bootstrap.size();
  const auto wrong = std::ranges::find_if(wanted, [n](int pe) { return pe < 0 || pe >= n; });
  const Result<void> good =
      wrong == wanted.end()
          ? Result<void>()
          : Error(Code::invalid_argument, "connect: there is no PE " + std::to_string(*wrong));
  if (auto all = all_succeed(bootstrap, good); !all) return all.error();
  std::vector<Bytes> wishes(static_cast<std::size_t>(n), Bytes(1));
  for (const int pe : wanted) wishes[static_cast<std::size_t>(pe)][0] = std::byte{1};
  const auto of_others = bootstrap.alltoall(wishes);
  if (!of_others) return of_others.error();
  std::vector<int> peers;
  for (int pe = 0; pe < n; ++pe) {
    const auto i = static_cast<std::size_t>(pe);
    const bool either =
        wishes[i] == Bytes(1, std::byte{1}) || (*of_others)[i] == Bytes(1, std::byte{1});
    if (either && !std::ranges::binary_search(known, pe)) peers.push_back(pe);
  }
  return peers;
}

}  // namespace gdakit

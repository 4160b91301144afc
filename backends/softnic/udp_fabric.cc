#include "backends/softnic/udp_fabric.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/softnic/port_sharing.h"
#include "backends/softnic/wire/nic_place.h"
#include "backends/softnic/wire/udp_wire.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::softnic {
namespace {

constexpr const char* kOption = "GDAKIT_NIC_ADDRESS";
constexpr const char* kNearOption = "GDAKIT_NIC_NEAR";
constexpr const char* kTagsOption = "GDAKIT_NIC_TAGS";
constexpr const char* kCongestionOption = "GDAKIT_NIC_CONGESTION";

// What NICs that meet must have alike, but for where their addresses are.
struct NicTerms {
  std::uint8_t has_address;
  std::uint8_t at_loopback;
  std::uint8_t near;
  std::uint8_t tags;
  std::uint8_t congestion;
};

// What the others need to know of a PE's NIC, without padding. Whatever bytes come are an address.
struct NicCard {
  decltype(roce::IpAddress::bytes) ip{};
  std::uint8_t is_v6 = 0;
  std::uint8_t reserved = 0;
  std::uint16_t port = 0;
  std::uint16_t sending_port = 0;  // which its packets come from
  HostName host;

  UdpAddress address() const { return {{ip, is_v6 != 0}, port}; }
  UdpAddress sender() const { return {{ip, is_v6 != 0}, sending_port}; }
};
static_assert(sizeof(NicCard) == 22 + sizeof(HostName));

std::uint8_t flag(bool on) { return on ? 1 : 0; }

Result<> check_switch(const char* option, const std::vector<NicTerms>& all,
                      std::uint8_t NicTerms::*which) {
  return check_same(option, all,
                    [which](const NicTerms& pe) { return switch_name(pe.*which != 0); });
}

Result<> check_terms(const std::vector<NicTerms>& all) {
  Result<> same = check_same(
      kOption, all, [](const NicTerms& pe) { return pe.has_address != 0 ? "one" : "none"; },
      "all PEs of a job need one, or none");
  if (same && all.front().has_address != 0) {
    same = check_same(kNearOption, all, [](const NicTerms& pe) {
      return near_wire_name(static_cast<NearWire>(pe.near));
    });
  }
  if (same) same = check_switch(kTagsOption, all, &NicTerms::tags);
  if (same) same = check_switch(kCongestionOption, all, &NicTerms::congestion);
  return same;
}

Error refused(const std::string& why) {
  return Error(Code::invalid_argument, std::string(kOption) + ": " + why);
}

std::string pe_text(std::size_t pe) { return "PE " + std::to_string(pe); }

// No two hosts at one address, nor PEs that send from one, and no PE that another host would look
// for at itself.
Result<> check_cards(const std::vector<NicCard>& cards) {
  for (std::size_t pe = 0; pe < cards.size(); ++pe) {
    const UdpAddress address = cards[pe].address();
    for (std::size_t before = 0; before < pe; ++before) {
      const NicCard& other = cards[before];
      const bool shares = other.host == cards[pe].host && !(other.sender() == cards[pe].sender());
      if (shares || !(other.address() == address)) continue;
      return refused(pe_text(before) + " and " + pe_text(pe) + " are both at " + address.text() +
                     ", on two hosts; give each host an address that the others reach");
    }
    const bool is_alone = std::all_of(cards.begin(), cards.end(), [&](const NicCard& other) {
      return other.host == cards[pe].host;
    });
    if (address.is_loopback() && !is_alone) {
      return refused(pe_text(pe) + " is at " + address.text() +
                     ", which means itself on every host, and the job has several; name a network "
                     "between them, like 10.0.0.0/8");
    }
  }
  return {};
}

// Every PE's, by rank.
Result<std::vector<NicCard>> exchange(const UdpPort& port, Bootstrap& bootstrap) {
  const UdpAddress& own = port.receiver.address();
  const std::uint16_t sending_port = port.sender ? port.sender->address().port : own.port;
  const NicCard card{
      own.ip.bytes, own.ip.is_v6 ? std::uint8_t{1} : std::uint8_t{0}, 0, own.port, sending_port,
      this_host()};
  auto cards = allgather_value(bootstrap, card);
  if (!cards) return cards.error();
  if (const Result<> fit = check_cards(*cards); !fit) return fit.error();
  return cards;
}

// Of the wire's tags, if the PEs want some.
Result<std::optional<TagKey>> tag_key_of(const Options& options, const Bootstrap& bootstrap) {
  if (!options.nic_tags) return std::optional<TagKey>();
  const std::optional<JobKey> key = bootstrap.key("gdakit: tags of packets over UDP");
  if (key) return key;
  return Error(Code::invalid_argument,
               std::string(kTagsOption) +
                   ": the launcher gives the job no secret of its own, and others could make tags; "
                   "set GDAKIT_SECRET to the same 32 random hexadecimal digits for all PEs");
}

// The longest that all ways of all PEs carry.
Result<std::uint32_t> agreed_mtu(const UdpSocket& socket, const std::vector<NicCard>& all,
                                 const std::vector<bool>& near, std::uint32_t tag_bytes,
                                 Bootstrap& bootstrap) {
  const Result<PathProbe> probe = PathProbe::open(socket.address());
  if (!probe) return probe.error();
  std::uint32_t longest = roce::kMostMtu;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    if (near[pe]) continue;
    const Result<std::uint32_t> packet = probe->longest_packet_to(all[pe].address());
    if (!packet) return packet.error().within(pe_text(pe));
    longest = std::min(longest, longest_roce_mtu(*packet, tag_bytes));
  }
  const auto every = allgather_value(bootstrap, longest);
  if (!every) return every.error();
  const std::uint32_t agreed = *std::min_element(every->begin(), every->end());
  if (agreed != 0) return agreed;
  return Error(Code::unavailable,
               "a network between the PEs carries packets too short for RoCE's least MTU of 256 "
               "bytes; raise its interfaces' MTU to " +
                   std::to_string(340 + tag_bytes) + " at least");
}

Result<NicPlace> find_own_place(const Options& options, const Bootstrap& bootstrap) {
  auto place = find_nic_place(options.nic_address, static_cast<std::uint32_t>(bootstrap.rank()));
  if (!place) return place.error().within(kOption);
  return place;
}

}  // namespace

Result<Meeting> find_meeting(const Options& options, Bootstrap& bootstrap) {
  const bool has_address = !options.nic_address.empty();
  const auto place = has_address ? find_own_place(options, bootstrap) : NicPlace{};
  const NicTerms mine{flag(has_address), flag(place && place->address.is_loopback()),
                      static_cast<std::uint8_t>(options.nic_near), flag(options.nic_tags),
                      flag(options.nic_congestion)};
  const auto all = allgather_value(bootstrap, mine);
  if (!all) return all.error();
  if (const Result<> same = check_terms(*all); !same) return same.error();
  if (!has_address) return Meeting::in_memory;
  if (!place) return place.error();
  if (options.nic_near != NearWire::automatic) {
    return options.nic_near == NearWire::udp ? Meeting::over_udp : Meeting::by_place;
  }
  const auto at_loopback = [](const NicTerms& pe) { return pe.at_loopback != 0; };
  return std::ranges::all_of(*all, at_loopback) ? Meeting::over_udp : Meeting::by_place;
}

Result<UdpLink> open_udp_wire(const Options& options, Bootstrap& bootstrap, const Hosts& hosts,
                              const std::vector<bool>& near) {
  const Result<std::optional<TagKey>> tag_key = tag_key_of(options, bootstrap);
  if (!tag_key) return tag_key.error();
  const Result<NicPlace> place = find_own_place(options, bootstrap);
  if (!place) return place.error();
  Result<OpenPort> open = open_port(options, bootstrap, *place, hosts);
  if (!open) return open.error().within(kOption);
  const auto cards = exchange(open->port, bootstrap);
  if (!cards) return cards.error();
  UdpOptions wire_options;
  wire_options.tag_key = *tag_key;
  const Result<std::uint32_t> mtu =
      agreed_mtu(open->port.receiver, *cards, near, *tag_key ? kTagBytes : 0, bootstrap);
  if (!mtu) return mtu.error().within(kOption);
  wire_options.endpoint = static_cast<Endpoint>(bootstrap.rank());
  wire_options.mtu = *mtu;
  Result<std::unique_ptr<UdpWire>> wire = UdpWire::create(std::move(open->port), wire_options);
  if (!wire) return wire.error();
  UdpLink link{std::move(*wire), {}, open->share};
  for (std::size_t pe = 0; pe < cards->size(); ++pe) {
    const NicCard& card = (*cards)[pe];
    link.addresses.push_back(card.address());
    if (near[pe]) continue;
    const auto connected =
        link.wire->connect(static_cast<Endpoint>(pe), card.address(), card.sender());
    if (!connected) return connected.error().within(kOption);
  }
  return link;
}

}  // namespace gdakit::softnic

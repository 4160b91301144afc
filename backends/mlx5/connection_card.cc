#include "backends/mlx5/connection_card.h"

#include <cstring>

namespace gdakit::mlx5 {
namespace {

constexpr std::uint32_t kMostNumber = 0xffffff;  // of queue pairs and of packets

bool has_good_numbers(const ConnectionCard& card) {
  return card.qpn <= kMostNumber && card.first_psn <= kMostNumber;
}
bool has_good_numbers(const DcCard& card) { return card.dctn <= kMostNumber; }

// Why a card cannot be one that this version of gdakit made.
template <class Card>
std::string wrong_with(const Card& card) {
  if (card.version != Card::kVersion) return "is of another version";
  if (!has_good_numbers(card)) return "names numbers out of range";
  const PortAddress& address = card.address;
  if (address.mtu < IBV_MTU_256 || address.mtu > IBV_MTU_4096 || address.log_reads > 7) {
    return "names limits out of range";
  }
  return {};
}

// Why two ports cannot be connected.
std::string wrong_between(const PortAddress& mine, const PortAddress& other) {
  if (mine.link_layer != other.link_layer) {
    return "one is on InfiniBand and the other on Ethernet (GDAKIT_HCA_LIST chooses NICs)";
  }
  if (mine.link_layer == IBV_LINK_LAYER_ETHERNET && mine.gid_type != other.gid_type) {
    return "one has a GID of RoCE v2 and the other of v1 (GDAKIT_GID chooses; `show_gids` lists "
           "them)";
  }
  if (mine.link_layer == IBV_LINK_LAYER_ETHERNET && is_ipv4(mine.gid) != is_ipv4(other.gid)) {
    return "one has a GID of IPv4 and the other of IPv6 (GDAKIT_GID chooses; `show_gids` lists "
           "them)";
  }
  return {};
}

Error refused(const std::string& why) { return Error(Code::invalid_argument, why); }

template <class Card>
Bytes to_card(const Card& card) {
  Bytes bytes(sizeof card);
  std::memcpy(bytes.data(), &card, sizeof card);
  return bytes;
}

template <class Card>
Result<Card> read(const Bytes& bytes, const OpenNic& nic) {
  Card card;
  if (bytes.size() != sizeof card) {
    return refused("a connection card of " + std::to_string(bytes.size()) +
                   " bytes; do all PEs use backend mlx5?");
  }
  std::memcpy(static_cast<void*>(&card), bytes.data(), sizeof card);
  if (const std::string wrong = wrong_with(card); !wrong.empty()) {
    return refused("the connection card " + wrong + "; do all PEs run the same version of gdakit?");
  }
  const std::string wrong = wrong_between(nic.address(), card.address);
  if (wrong.empty()) return card;
  return refused("of " + nic.name() + " and the peer's NIC " + wrong);
}

}  // namespace

Bytes bytes_of(const ConnectionCard& card) { return to_card(card); }
Bytes bytes_of(const DcCard& card) { return to_card(card); }

Result<ConnectionCard> read_card(const Bytes& bytes, const OpenNic& nic) {
  return read<ConnectionCard>(bytes, nic);
}
Result<DcCard> read_dc_card(const Bytes& bytes, const OpenNic& nic) {
  return read<DcCard>(bytes, nic);
}

}  // namespace gdakit::mlx5

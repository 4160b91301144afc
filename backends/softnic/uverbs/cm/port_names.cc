#include "backends/softnic/uverbs/cm/port_names.h"

#include <charconv>
#include <random>
#include <system_error>

#include "backends/softnic/uverbs/fabric.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

// As Linux gives away.
constexpr std::uint16_t kFirstEphemeral = 32768, kLastEphemeral = 60999;

}  // namespace

std::string PortNames::begin(char what, PortSpace space, std::uint16_t port) const {
  return prefix_ + what + "/" + std::to_string(static_cast<unsigned>(space)) + "/" +
         std::to_string(port) + "/";
}

// Its own name first: of two that want what excludes the other, one sees the other's.
std::optional<KeptFile> PortNames::take_if_free(PortSpace space, const IpPort& address) {
  const std::string names = begin('p', space, address.port);
  const std::string own = names + name_of(address.ip);
  auto file = take_name(own);
  if (!file) return std::nullopt;
  const std::string any = names + "any";
  for (const std::string& other : names_.beginning_with(names)) {
    if (other != own && (own == any || other == any)) return std::nullopt;
  }
  return file;
}

std::optional<KeptFile> PortNames::take(PortSpace space, IpPort& address) {
  if (address.port != 0) return take_if_free(space, address);
  std::uniform_int_distribution<unsigned> ports(kFirstEphemeral, kLastEphemeral);
  std::random_device random;
  constexpr int kMostTries = 1000;
  for (int tries = 0; tries < kMostTries; ++tries) {
    IpPort wanted{address.ip, static_cast<std::uint16_t>(ports(random))};
    auto file = take_if_free(space, wanted);
    if (!file) continue;
    address = wanted;
    return file;
  }
  return std::nullopt;
}

std::optional<KeptFile> PortNames::listen(PortSpace space, const IpPort& address, Endpoint place) {
  return take_name(begin('l', space, address.port) + name_of(address.ip) + "/" +
                   std::to_string(place));
}

std::optional<Endpoint> PortNames::find_listener(PortSpace space, const IpPort& address) {
  const std::string names = begin('l', space, address.port) + name_of(address.ip) + "/";
  for (const std::string& name : names_.beginning_with(names)) {
    Endpoint place = 0;
    const char* const end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data() + names.size(), end, place);
    if (error == std::errc() && read == end && place < kPlaces) return place;
  }
  return std::nullopt;
}

bool PortNames::has_listener(PortSpace space, std::uint16_t port) {
  return !names_.beginning_with(begin('l', space, port)).empty();
}

}  // namespace gdakit::softnic::uverbs::cm

#include "core/base/gid_choice.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>

namespace gdakit {
namespace {

constexpr std::size_t kIpv4Begins = 12;  // bytes; behind ten of 0 and two of 0xff
constexpr std::size_t kByteBits = 8;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

// Sets what has not been said before.
template <class T>
bool say(std::optional<T>& what, T value) {
  if (what) return false;
  what = value;
  return true;
}

std::optional<GidChoice::Gid> parse_address(const std::string& text) {
  GidChoice::Gid gid{};
  if (::inet_pton(AF_INET6, text.c_str(), gid.data()) == 1) return gid;
  if (::inet_pton(AF_INET, text.c_str(), gid.data() + kIpv4Begins) != 1) return std::nullopt;
  gid[kIpv4Begins - 2] = gid[kIpv4Begins - 1] = 0xff;
  return gid;
}

bool same_bits(const GidChoice::Gid& one, const GidChoice::Gid& other, std::size_t bits) {
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80 >> bit % kByteBits);
    if (((one[bit / kByteBits] ^ other[bit / kByteBits]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace

bool is_ipv4(const GidChoice::Gid& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
         gid[kIpv4Begins - 2] == 0xff && gid[kIpv4Begins - 1] == 0xff;
}

std::optional<GidChoice> GidChoice::parse(std::string_view text) {
  GidChoice choice;
  choice.text_ = text;
  if (text.empty()) return choice;
  choice.index_ = number<std::uint8_t>(text);
  if (choice.index_) return choice;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!choice.take(text.substr(0, comma))) return std::nullopt;
    if (comma == text.size()) break;
    text.remove_prefix(comma + 1);
  }
  if (choice.network_ && choice.is_ipv4_.value_or(is_ipv4(choice.network_->prefix)) !=
                             is_ipv4(choice.network_->prefix)) {
    return std::nullopt;
  }
  return choice;
}

bool GidChoice::take(std::string_view word) {
  if (word == "v1") return say(version_, 1);
  if (word == "v2") return say(version_, 2);
  if (word == "ipv4") return say(is_ipv4_, true);
  if (word == "ipv6") return say(is_ipv4_, false);
  return take_network(word);
}

bool GidChoice::take_network(std::string_view word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos) return false;
  const auto address = parse_address(std::string(word.substr(0, slash)));
  const auto bits = number<std::size_t>(word.substr(slash + 1));
  if (!address || !bits) return false;
  const std::size_t before = is_ipv4(*address) ? kIpv4Begins * kByteBits : 0;
  if (before + *bits > address->size() * kByteBits) return false;
  return say(network_, Network{*address, before + *bits});
}

bool GidChoice::allows(const Gid& gid, int version) const {
  if (version_ && *version_ != version) return false;
  if (is_ipv4_ && *is_ipv4_ != is_ipv4(gid)) return false;
  return !network_ || same_bits(gid, network_->prefix, network_->bits);
}

}  // namespace gdakit

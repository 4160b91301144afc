#include "core/base/connect_choice.h"

#include <algorithm>
#include <charconv>

namespace gdakit {
namespace {

constexpr int kLastPe = 65535;

std::optional<int> parse_pe(std::string_view text) {
  int pe = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pe);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && pe >= 0 && pe <= kLastPe ? std::optional(pe) : std::nullopt;
}

// "3" or "0-3".
std::optional<std::pair<int, int>> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<int> first = parse_pe(text.substr(0, dash));
  const std::optional<int> last =
      dash == std::string_view::npos ? first : parse_pe(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

std::optional<ConnectChoice> ConnectChoice::parse(std::string_view text) {
  ConnectChoice choice;
  choice.text_ = text;
  if (text == "all") return choice;
  choice.kind_ = text == "none" ? Kind::none : text == "rails" ? Kind::rails : Kind::list;
  if (choice.kind_ != Kind::list) return choice;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto range = parse_range(text.substr(0, comma));
    if (!range) return std::nullopt;
    choice.named_.push_back(*range);
    if (comma == text.size()) return choice;
    text.remove_prefix(comma + 1);
  }
}

bool ConnectChoice::names(int pe) const {
  return std::ranges::any_of(
      named_, [pe](const Range& range) { return range.first <= pe && pe <= range.second; });
}

int ConnectChoice::last_named() const {
  int last = -1;
  for (const Range& range : named_) last = std::max(last, range.second);
  return last;
}

bool ConnectChoice::connects(const PlaceOfPe& one, const PlaceOfPe& other) const {
  if (one.pe == other.pe) return true;
  switch (kind_) {
    case Kind::all: return true;
    case Kind::none: return false;
    case Kind::rails: return one.host == other.host || one.local_rank == other.local_rank;
    case Kind::list: return names(one.pe) || names(other.pe);
  }
  return false;
}

}  // namespace gdakit

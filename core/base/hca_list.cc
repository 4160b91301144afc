#include "core/base/hca_list.h"

#include <algorithm>
#include <charconv>

namespace gdakit {
namespace {

std::optional<std::uint8_t> parse_port(std::string_view text) {
  std::uint8_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && port != 0 ? std::optional(port) : std::nullopt;
}

}  // namespace

std::optional<HcaList> HcaList::parse(std::string_view text) {
  HcaList list;
  if (text.empty()) return list;
  list.excludes_ = text.front() == '^';
  if (list.excludes_) text.remove_prefix(1);
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const std::size_t colon = std::min(word.find(':'), word.size());
    Entry entry{std::string(word.substr(0, colon)), {}};
    if (colon != word.size()) {
      entry.port = parse_port(word.substr(colon + 1));
      if (!entry.port) return std::nullopt;
    }
    if (entry.name.empty()) return std::nullopt;
    list.entries_.push_back(std::move(entry));
    if (comma == text.size()) return list;
    text.remove_prefix(comma + 1);
  }
}

bool HcaList::lists(std::string_view name, std::uint8_t port) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.name == name && entry.port.value_or(port) == port;
  });
}

bool HcaList::allows(std::string_view name, std::uint8_t port) const {
  return entries_.empty() || lists(name, port) != excludes_;
}

std::vector<std::string> HcaList::unknown(const std::vector<std::string>& present) const {
  std::vector<std::string> names;
  if (excludes_) return names;
  for (const Entry& entry : entries_) {
    if (std::ranges::find(present, entry.name) == present.end()) names.push_back(entry.name);
  }
  return names;
}

std::string HcaList::text() const {
  std::string text = excludes_ ? "^" : "";
  for (const Entry& entry : entries_) {
    if (&entry != &entries_.front()) text += ',';
    text += entry.name;
    if (entry.port) text += ':' + std::to_string(*entry.port);
  }
  return text;
}

std::optional<HcaMap> HcaMap::parse(std::string_view text) {
  HcaMap map;
  if (text.empty()) return map;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const std::optional<HcaList> entry = HcaList::parse(word);
    if (!entry || word.empty() || word.front() == '^') return std::nullopt;
    map.entries_.push_back(*entry);
    if (comma == text.size()) return map;
    text.remove_prefix(comma + 1);
  }
}

HcaList HcaMap::of(std::size_t local_rank) const {
  return entries_.empty() ? HcaList() : entries_[local_rank % entries_.size()];
}

std::string HcaMap::text() const {
  std::string text;
  for (const HcaList& entry : entries_) text += (text.empty() ? "" : ",") + entry.text();
  return text;
}

}  // namespace gdakit

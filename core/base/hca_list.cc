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

// One more than there are separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<HcaList> HcaList::parse(std::string_view text) {
  HcaList list;
  if (text.empty()) return list;
  list.excludes_ = text.front() == '^';
  if (list.excludes_) text.remove_prefix(1);
  for (const std::string_view word : parts_of(text, ',')) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    Entry entry{std::string(word.substr(0, colon)), {}};
    if (colon != word.size()) {
      entry.port = parse_port(word.substr(colon + 1));
      if (!entry.port) return std::nullopt;
    }
    if (entry.name.empty()) return std::nullopt;
    list.entries_.push_back(std::move(entry));
  }
  return list;
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

std::vector<std::uint8_t> HcaList::ports_of(std::string_view name) const {
  std::vector<std::uint8_t> ports;
  if (excludes_) return ports;
  for (const Entry& entry : entries_) {
    if (entry.name == name && entry.port) ports.push_back(*entry.port);
  }
  return ports;
}

bool HcaList::shares_a_port(const HcaList& other) const {
  return std::ranges::any_of(entries_, [&](const Entry& mine) {
    return std::ranges::any_of(other.entries_, [&](const Entry& its) {
      return its.name == mine.name && (!its.port || !mine.port || *its.port == *mine.port);
    });
  });
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
  for (const std::string_view words : parts_of(text, ',')) {
    Entry entry;
    for (const std::string_view word : parts_of(words, '+')) {
      const std::optional<HcaList> nic = HcaList::parse(word);
      if (!nic || word.empty() || word.front() == '^') return std::nullopt;
      entry.push_back(*nic);
    }
    map.entries_.push_back(std::move(entry));
  }
  return map;
}

std::vector<HcaList> HcaMap::of(std::size_t local_rank) const {
  return entries_.empty() ? Entry() : entries_[local_rank % entries_.size()];
}

std::string HcaMap::misfit(std::size_t nics_per_pe) const {
  for (const Entry& entry : entries_) {
    const std::string what = "GDAKIT_HCA_MAP: its entry " + text_of(entry) + " names ";
    if (entry.size() != nics_per_pe) {
      return what + std::to_string(entry.size()) + (entry.size() == 1 ? " NIC" : " NICs") +
             ", where a PE takes " + std::to_string(nics_per_pe) +
             "; give each entry as many, joined by +, or change GDAKIT_NICS_PER_PE";
    }
    for (auto nic = entry.begin(); nic != entry.end(); ++nic) {
      if (std::any_of(entry.begin(), nic,
                      [&](const HcaList& other) { return other.shares_a_port(*nic); })) {
        return what + nic->text() +
               " a second time; give a PE different NICs, or different ports of one "
               "(mlx5_0:1+mlx5_0:2), or lower GDAKIT_NICS_PER_PE";
      }
    }
  }
  return {};
}

std::string HcaMap::text_of(const Entry& entry) {
  std::string text;
  for (const HcaList& nic : entry) text += (text.empty() ? "" : "+") + nic.text();
  return text;
}

std::string HcaMap::text() const {
  std::string text;
  for (const Entry& entry : entries_) text += (text.empty() ? "" : ",") + text_of(entry);
  return text;
}

}  // namespace gdakit

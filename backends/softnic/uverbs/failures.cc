#include "backends/softnic/uverbs/failures.h"

#include <algorithm>
#include <charconv>

#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs {
namespace {

Error bad(const std::string& item, const std::string& remedy) {
  return Error(Code::invalid_argument, item + ": " + remedy);
}

std::string known_names() {
  std::string names;
  for (const FailureRow& row : failure_rows()) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

// Takes what stands between `begin` and `end` off the text, if it is a number of at most `most`.
std::optional<int> take_number(std::string_view& text, std::string_view begin, char end, int most) {
  if (!text.starts_with(begin)) return std::nullopt;
  const std::string_view rest = text.substr(begin.size());
  const std::size_t length = rest.find(end);
  if (length == std::string_view::npos) return std::nullopt;
  int number = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + length, number);
  if (error != std::errc() || stop != rest.data() + length || number < 0 || number > most) {
    return std::nullopt;
  }
  text = rest.substr(length + 1);
  return number;
}

}  // namespace

Result<Failures::Item> Failures::parse_item(const std::string& text) {
  constexpr int kMostPes = 1 << 20;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return bad(text, "write NAME=VALUE, with a name of " + known_names());
  }
  Item item;
  std::string_view head(text.data(), equals);
  item.pe = take_number(head, "pe", ':', kMostPes);
  item.nic = take_number(head, "mlx5_", '/', kMostNics - 1);
  item.name = head;
  item.value = text.substr(equals + 1);
  if (head.find_first_of(":/") != std::string_view::npos) {
    return bad(text, "write peN: and mlx5_N/, in this order, before the name, or neither");
  }
  const FailureRow* const row = find_failure_row(head);
  if (row == nullptr) {
    return bad(text, "there is no failure \"" + item.name + "\", but " + known_names());
  }
  if (row->of_node && item.nic) {
    return bad(text, item.name + " is of the whole node; leave out the NIC");
  }
  NicFailures unused;
  if (row->set(unused, item.name, item.value)) return item;
  return bad(text, "write " + item.name + "=" + std::string(row->value));
}

Result<Failures> Failures::parse(const std::string& text) {
  Failures failures;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    Result<Item> item = parse_item(text.substr(begin, end - begin));
    if (!item) return item.error();
    failures.items_.push_back(std::move(*item));
    begin = end + 1;
  }
  return failures;
}

std::string Failures::text() const {
  std::string all;
  for (const Item& item : items_) {
    all += all.empty() ? "" : ",";
    if (item.pe) all += "pe" + std::to_string(*item.pe) + ":";
    if (item.nic) all += "mlx5_" + std::to_string(*item.nic) + "/";
    all += item.name + "=" + item.value;
  }
  return all;
}

Failures Failures::of_pe(std::optional<int> pe) const {
  Failures those;
  for (const Item& item : items_) {
    if (item.pe && item.pe != pe) continue;
    those.items_.push_back(item);
    those.items_.back().pe.reset();
  }
  return those;
}

std::set<int> Failures::pes() const {
  std::set<int> named;
  for (const Item& item : items_) {
    if (item.pe) named.insert(*item.pe);
  }
  return named;
}

NicFailures Failures::of_nic(int nic) const {
  NicFailures those;
  for (const Item& item : items_) {
    if (item.pe || (item.nic && item.nic != nic)) continue;
    find_failure_row(item.name)->set(those, item.name, item.value);
  }
  return those;
}

}  // namespace gdakit::softnic::uverbs

#include "backends/softnic/uverbs/spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "backends/softnic/uverbs/fabric.h"
#include "backends/softnic/uverbs/far_hosts.h"
#include "backends/softnic/wire/nic_place.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::array kModels = {
    Model{6, 0x101b, 4, 4123, "MT4123", "MT_0000000223", "20.39.3004", 64, "200 Gb/sec (4X HDR)"},
    Model{7, 0x1021, 5, 4129, "MT4129", "MT_0000000838", "28.39.3004", 128, "400 Gb/sec (4X NDR)"},
    Model{8, 0x1023, 5, 4131, "MT4131", "MT_0000001069", "40.43.1014", 128, "400 Gb/sec (4X NDR)"},
};

Error bad(const std::string& item, const std::string& remedy) {
  return Error(Code::invalid_argument, std::string(kSpecVariable) + ": " + item + ": " + remedy);
}

Result<int> whole_number(std::string_view text, const std::string& item) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return bad(item, "give a number");
  return number;
}

bool is_fabric_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), good);
}

Result<void> set(Spec& spec, std::string_view key, std::string_view value,
                 const std::string& item) {
  if (key == "fabric") {
    if (!is_fabric_name(value)) return bad(item, "use up to 40 letters, digits, '-', '_' and '.'");
    spec.fabric = value;
    return {};
  }
  if (key == "address") {
    if (value.empty()) return bad(item, "use an address or an interface of this host");
    spec.address = value;
    return {};
  }
  if (key == "link") {
    if (value != "roce" && value != "ib") return bad(item, "use roce or ib");
    spec.link = value == "roce" ? LinkLayer::ethernet : LinkLayer::infiniband;
    return {};
  }
  if (key != "nics" && key != "model") return bad(item, "use nics, model, link, address or fabric");
  const Result<int> number = whole_number(value, item);
  if (!number) return number.error();
  if (key == "model") {
    spec.model = find_model(*number);
    return spec.model == nullptr ? bad(item, "use 6, 7 or 8") : Result<void>();
  }
  spec.nics = *number;
  if (spec.nics >= 1 && spec.nics <= kMostNics) return {};
  return bad(item, "use 1 to " + std::to_string(kMostNics));
}

Result<void> find_addresses(Spec& spec) {
  if (spec.address.empty()) return {};
  const std::string item = "address=" + spec.address;
  if (spec.link == LinkLayer::infiniband) return bad(item, "use link=roce");
  for (int nic = 0; nic < spec.nics; ++nic) {
    const Result<NicPlace> place = find_nic_place(spec.address, static_cast<unsigned>(nic));
    if (!place) return bad(item, place.error().message());
    // Places behind the first have the next ports.
    constexpr int kLastPort = 65536 - static_cast<int>(kPlaces);
    if (place->address.port == 0 || place->address.port > kLastPort) {
      return bad(item, "use a port of 1 to " + std::to_string(kLastPort));
    }
    spec.reached_at.push_back(place->address);
  }
  return {};
}

}  // namespace

const Model* find_model(int number) {
  const auto at = std::find_if(kModels.begin(), kModels.end(),
                               [number](const Model& one) { return one.number == number; });
  return at == kModels.end() ? nullptr : &*at;
}

Result<Spec> Spec::parse(const std::string& text) {
  Spec spec;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) return bad(item, "write key=value");
    const std::string_view view = item;
    const Result<void> done = set(spec, view.substr(0, equals), view.substr(equals + 1), item);
    if (!done) return done.error();
    begin = end + 1;
  }
  if (const Result<void> found = find_addresses(spec); !found) return found.error();
  return spec;
}

std::string Spec::text() const {
  return "nics=" + std::to_string(nics) + ",model=" + std::to_string(model->number) +
         ",link=" + (link == LinkLayer::ethernet ? "roce" : "ib") +
         (address.empty() ? "" : ",address=" + address) + ",fabric=" + fabric;
}

std::string Identity::pci_address() const {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(index_) + 1);
  return text;
}

std::uint64_t Identity::firmware_number() const {
  unsigned major = 0, minor = 0, sub = 0;
  std::sscanf(model().firmware, "%u.%u.%u", &major, &minor, &sub);
  return std::uint64_t{major} << 32 | minor << 16 | sub;
}

Gid Identity::local_gid(unsigned port) const {
  Gid gid{};
  gid[0] = 0xfe;
  gid[1] = 0x80;
  for (unsigned byte = 0; byte < 8; ++byte) {
    gid[8 + byte] = static_cast<std::uint8_t>(guid(port) >> (56 - 8 * byte));
  }
  return gid;
}

Gid Identity::routable_gid(unsigned port) const {
  if (link() == LinkLayer::infiniband) return local_gid(port);
  if (reached_at() != nullptr) return gid_of(reached_at()->ip);
  Gid gid{};
  gid[10] = gid[11] = 0xff;
  gid[12] = 127;
  gid[15] = static_cast<std::uint8_t>(1 + number_of(port));
  return gid;
}

int Identity::gids() const {
  if (failures_.gids == GidTable::none) return 0;
  if (link() == LinkLayer::infiniband) return 1;
  return failures_.gids == GidTable::whole ? 4 : 2;
}

// Of RoCE v1 alone each address stands once.
Gid Identity::gid(int index, unsigned port) const {
  const int of_one = failures_.gids == GidTable::roce_v1 ? 1 : 2;
  return index < of_one ? local_gid(port) : routable_gid(port);
}

std::array<std::uint8_t, 6> Identity::mac() const {
  std::array<std::uint8_t, 6> mac;
  for (unsigned byte = 0; byte < mac.size(); ++byte) {
    const unsigned shift = byte < 3 ? 56 - 8 * byte : 40 - 8 * byte;
    mac[byte] = static_cast<std::uint8_t>(guid() >> shift);
  }
  return mac;
}

std::string Identity::interface() const {
  return reached_at() == nullptr ? "lo" : interface_of(*reached_at());
}

std::uint32_t Identity::gid_type(int index) const {
  if (link() == LinkLayer::infiniband) return 0;
  return index % 2 == 0 || failures_.gids == GidTable::roce_v1 ? 1 : 2;
}

}  // namespace gdakit::softnic::uverbs

// The failures that there are.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <utility>

#include "backends/softnic/uverbs/command_names.h"
#include "backends/softnic/uverbs/dispatch.h"
#include "backends/softnic/uverbs/errno_names.h"
#include "backends/softnic/uverbs/failures.h"

namespace gdakit::softnic::uverbs {
namespace {

using Text = std::string_view;

template <class Number>
std::optional<Number> number_of(Text text) {
  const bool in_hex = text.starts_with("0x");
  if (in_hex) text.remove_prefix(2);
  Number number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number, in_hex ? 16 : 10);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

// The member takes the error.
template <int NicFailures::*kMember>
bool set_errno(NicFailures& to, Text, Text value) {
  const auto error = errno_by_name(value);
  to.*kMember = error.value_or(0);
  return error.has_value();
}

template <auto kMember>
bool set_limit(NicFailures& to, Text, Text value) {
  const auto limit = number_of<std::uint64_t>(value);
  to.*kMember = limit;
  return limit.has_value();
}

// Bytes, or with K, M or G behind them.
bool set_locked(NicFailures& to, Text, Text value) {
  constexpr Text kUnits = "KMG";
  const std::size_t unit = value.empty() ? Text::npos : kUnits.find(value.back());
  if (unit != Text::npos) value.remove_suffix(1);
  const auto number = number_of<std::uint32_t>(value);
  if (number) {
    to.locked_bytes = std::uint64_t{*number} << (unit == Text::npos ? 0 : 10 * (unit + 1));
  }
  return number.has_value();
}

// One of a few words, each of which stands for a value.
template <auto kMember, class Value, std::size_t kCount>
bool set_word(NicFailures& to, Text value,
              const std::array<std::pair<Text, Value>, kCount>& words) {
  const auto at = std::ranges::find(words, value, &std::pair<Text, Value>::first);
  if (at == words.end()) return false;
  to.*kMember = at->second;
  return true;
}

bool set_node(NicFailures& to, Text, Text value) {
  using Row = std::pair<Text, int>;
  return set_word<&NicFailures::node>(to, value,
                                      std::array{Row{"absent", ENOENT}, Row{"denied", EACCES}});
}

bool set_driver(NicFailures& to, Text, Text value) {
  static constexpr std::array kVendors = {OtherVendor{"efa", 0x1d0f, 0xefa1, "efa"},
                                          OtherVendor{"bnxt_re", 0x14e4, 0x1750, "bnxt_en"}};
  const auto at = std::ranges::find(kVendors, value, &OtherVendor::name);
  to.other = at == kVendors.end() ? nullptr : &*at;
  to.name_begin = std::string(value) + "_";
  return to.other != nullptr;
}

bool set_name(NicFailures& to, Text, Text value) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  to.name_begin = value;
  return !value.empty() && value.size() <= 40 && std::ranges::all_of(value, is_good);
}

bool set_pages(NicFailures& to, Text, Text value) {
  to.no_nc_page |= value == "nc" || value == "all";
  to.no_bf_page |= value == "bf" || value == "all";
  return to.no_nc_page || to.no_bf_page;
}

bool set_doorbells(NicFailures& to, Text, Text value) {
  to.doorbells_lost = value == "lost";
  return to.doorbells_lost;
}

bool set_dma(NicFailures& to, Text, Text value) {
  to.no_dma = value == "denied";
  return to.no_dma;
}

bool set_ports(NicFailures& to, Text, Text value) {
  to.ports = kMostPorts;
  return value == "2";
}

// Of all ports, or of the one whose number is behind the word.
bool set_port(NicFailures& to, Text, Text value) {
  using Row = std::pair<Text, std::uint8_t>;
  constexpr std::array kStates = {Row{"down", 1}, Row{"init", 2}, Row{"armed", 3}};
  const std::size_t colon = value.find(':');
  const auto state = std::ranges::find(kStates, value.substr(0, colon), &Row::first);
  if (state == kStates.end()) return false;
  if (colon == Text::npos) {
    to.port_states.fill(state->second);
    return true;
  }
  const auto port = number_of<std::uint8_t>(value.substr(colon + 1));
  if (!port || *port < 1 || *port > kMostPorts) return false;
  to.port_states[*port - 1u] = state->second;
  return true;
}

bool set_gids(NicFailures& to, Text, Text value) {
  using Row = std::pair<Text, GidTable>;
  return set_word<&NicFailures::gids>(
      to, value,
      std::array{Row{"none", GidTable::none}, Row{"local", GidTable::link_local},
                 Row{"v1", GidTable::roce_v1}});
}

bool set_grh(NicFailures& to, Text, Text value) {
  to.needs_grh = value == "required";
  return to.needs_grh;
}

bool set_mtu(NicFailures& to, Text, Text value) {
  const auto mtu = number_of<std::uint32_t>(value);
  if (!mtu || *mtu < 256 || *mtu > 4096 || !std::has_single_bit(*mtu)) return false;
  to.mtu = *mtu;
  return true;
}

bool set_atomics(NicFailures& to, Text, Text value) {
  using Row = std::pair<Text, AtomicsOf>;
  return set_word<&NicFailures::atomics>(
      to, value,
      std::array{Row{"none", AtomicsOf::none}, Row{"standard", AtomicsOf::standard},
                 Row{"swapped", AtomicsOf::swapped}});
}

bool set_dc(NicFailures& to, Text, Text value) {
  to.has_dc = value != "absent";
  return !to.has_dc;
}

bool set_lag(NicFailures& to, Text, Text value) {
  to.bonded = value == "bonded";
  return to.bonded;
}

bool set_library(NicFailures& to, Text, Text value) {
  to.libraries.emplace(value);
  return !value.empty();
}

bool set_symbol(NicFailures& to, Text, Text value) {
  to.symbols.emplace(value);
  return !value.empty();
}

bool set_module(NicFailures& to, Text, Text value) {
  const std::size_t colon = value.find(':');
  const Text name = value.substr(0, colon);
  const bool is_absent = colon == Text::npos;
  to.modules[std::string(name)] = is_absent ? "" : value.substr(colon + 1);
  const bool is_name = !name.empty() && name.find_first_of("/.") == Text::npos;
  return is_name && (is_absent || colon + 1 < value.size());
}

bool set_pci_width(NicFailures& to, Text, Text value) {
  to.pci_width = number_of<std::uint32_t>(value);
  return to.pci_width && std::has_single_bit(*to.pci_width) && *to.pci_width <= 16;
}

bool set_pci_speed(NicFailures& to, Text, Text value) {
  using Row = std::pair<Text, std::uint32_t>;
  return set_word<&NicFailures::pci_speed>(
      to, value,
      std::array{Row{"2.5", 1}, Row{"5.0", 2}, Row{"8.0", 3}, Row{"16.0", 4}, Row{"32.0", 5}});
}

bool set_iommu(NicFailures& to, Text, Text value) {
  to.iommu = value;
  return value == "DMA" || value == "DMA-FQ";
}

bool set_acs(NicFailures& to, Text, Text value) {
  to.acs_redirects = value == "on";
  return to.acs_redirects;
}

bool set_numa_node(NicFailures& to, Text, Text value) {
  to.numa_node = value;
  return value == "-1" || number_of<std::uint8_t>(value).has_value();
}

bool set_read_request(NicFailures& to, Text, Text value) {
  const auto bytes = number_of<std::uint32_t>(value);
  if (!bytes || *bytes < 128 || *bytes > 4096 || !std::has_single_bit(*bytes)) return false;
  to.read_request_bytes = *bytes;
  return true;
}

bool set_ordering(NicFailures& to, Text, Text value) {
  to.relaxed_ordering = value != "off";
  return !to.relaxed_ordering;
}

bool set_traffic_class(NicFailures& to, Text, Text value) {
  to.traffic_class = value;
  return number_of<std::uint8_t>(value).has_value();
}

bool set_command(NicFailures& to, Text name, Text value) {
  const auto opcode = opcode_by_name(name);
  const std::size_t slash = value.find('/');
  const auto status = number_of<std::uint8_t>(value.substr(0, slash));
  const auto syndrome =
      slash == Text::npos ? std::uint32_t{0} : number_of<std::uint32_t>(value.substr(slash + 1));
  if (!opcode || !status || *status == 0 || !syndrome) return false;
  to.commands[*opcode] = {*status, *syndrome};
  return true;
}

bool set_call(NicFailures& to, Text name, Text value) {
  const auto error = errno_by_name(value);
  to.calls[std::string(name)] = error.value_or(0);
  return error.has_value();
}

constexpr std::array kRows = {
    FailureRow{"node", "absent|denied",
               "/dev/infiniband/uverbsN is not there, or may not be opened (containers)", set_node},
    FailureRow{"driver", "efa|bnxt_re", "the NIC is another vendor's", set_driver},
    FailureRow{"name", "PREFIX",
               "NICs have other names, PREFIX0 and so on; no failure: all must be found", set_name},
    FailureRow{"devx", "ERRNO", "a context for firmware commands (DEVX) is refused",
               set_errno<&NicFailures::devx>},
    FailureRow{"uar", "nc|bf|all",
               "doorbell pages of a type are refused: not cached, BlueFlame, both", set_pages},
    FailureRow{"uars", "N", "there are N doorbell pages", set_limit<&NicFailures::pages>},
    FailureRow{"doorbells", "lost",
               "what is stored to a doorbell page made by DEVX does not reach the NIC",
               set_doorbells},
    FailureRow{
        "dma", "denied",
        "the NIC may not reach memory that is registered (IOMMU, ATS); a protection error of "
        "each WQE that does",
        set_dma},
    FailureRow{"dmabuf", "ERRNO", "memory is not registered by a dma-buf",
               set_errno<&NicFailures::dma_buf>},
    FailureRow{"locked", "BYTES",
               "so much memory can be locked, with K, M or G (ulimit -l); ENOMEM beyond it",
               set_locked},
    FailureRow{"qps", "N", "there are N queue pairs; beyond them CREATE_QP says 0x8/0x19c6d6",
               set_limit<&NicFailures::qps>},
    FailureRow{"cqs", "N", "there are N completion queues", set_limit<&NicFailures::cqs>},
    FailureRow{"ports", "2",
               "the device has two ports, as one whose ports share a function; no failure: each is "
               "a NIC of its own",
               set_ports},
    FailureRow{"port", "down|init|armed[:N]", "the port is not active; of two, port N alone",
               set_port},
    FailureRow{"gids", "none|local|v1",
               "the table of GIDs is empty, link-local alone, of RoCE v1 alone", set_gids},
    FailureRow{"gids_move", "N", "GIDs that are not link-local move to other places after N reads",
               set_limit<&NicFailures::gids_move>},
    FailureRow{"grh", "required", "InfiniBand: the port wants a global routing header", set_grh},
    FailureRow{"mtu", "256..4096", "the active MTU of the port", set_mtu},
    FailureRow{
        "atomics", "none|standard|swapped",
        "the NIC has no atomic operations, or none that are masked; or they bring back eight "
        "bytes in the other order",
        set_atomics},
    FailureRow{"dc", "absent", "the NIC has no dynamically connected transport", set_dc},
    FailureRow{"lag", "bonded",
               "firmware says that two ports are bonded as one (LAG), to which queue pairs are to "
               "be spread",
               set_lag},
    FailureRow{"route", "ERRNO",
               "RoCE: there is no way to a peer's address; ETIMEDOUT, ENETUNREACH",
               set_errno<&NicFailures::route>},
    FailureRow{"pci_width", "1..16", "the PCI link runs with so many lanes", set_pci_width},
    FailureRow{"pci_speed", "2.5|5.0|8.0|16.0|32.0", "the PCI link runs at so many GT/s",
               set_pci_speed},
    FailureRow{"read_request", "128..4096", "the longest PCI read of the NIC, in bytes",
               set_read_request},
    FailureRow{"relaxed_ordering", "off", "PCI writes of the NIC may not pass others",
               set_ordering},
    FailureRow{"iommu", "DMA|DMA-FQ", "the IOMMU translates the NIC's addresses", set_iommu},
    FailureRow{"acs", "on", "the root port above the NIC redirects peer-to-peer traffic", set_acs},
    FailureRow{"numa_node", "N", "the NIC is on this node; -1: not known", set_numa_node},
    FailureRow{"traffic_class", "N",
               "a traffic class is set for the whole system, which queue pairs "
               "made by DEVX do not take",
               set_traffic_class},
    FailureRow{"handles", "N", "the control group (rdma.max) allows N open devices",
               set_limit<&NicFailures::handles>},
    FailureRow{"objects", "N", "... and N objects", set_limit<&NicFailures::objects>},
    FailureRow{"module", "NAME[:VERSION]",
               "a module of the kernel is not loaded, or has this version", set_module, true},
    FailureRow{"library", "FILE", "a library cannot be loaded by dlopen: libmlx5.so.1", set_library,
               true},
    FailureRow{"symbol", "NAME", "a library lacks a function, by dlvsym", set_symbol, true},
    FailureRow{"CALL", "ERRNO", "a call of the kernel's fails: reg_mr=ENOMEM, register_umem=EFAULT",
               set_call},
    FailureRow{"COMMAND", "STATUS[/SYNDROME]",
               "the firmware refuses a command: CREATE_CQ=0x8/0x1234, 0x500=0x3", set_command},
};
constexpr const FailureRow& kCall = kRows[kRows.size() - 2];
constexpr const FailureRow& kCommand = kRows[kRows.size() - 1];

}  // namespace

std::span<const FailureRow> failure_rows() { return kRows; }

const FailureRow* find_failure_row(std::string_view name) {
  const auto at = std::ranges::find(kRows, name, &FailureRow::name);
  if (at != kRows.end() && &*at != &kCall && &*at != &kCommand) return &*at;
  if (opcode_by_name(name)) return &kCommand;
  return is_call(name) ? &kCall : nullptr;
}

}  // namespace gdakit::softnic::uverbs

// What is broken of a node, of its NICs and of its kernel: failures that a real cluster has, so
// that one can see what a program makes of them.
//
//   GDAKIT_VERBS_FAIL=mlx5_1/port=down,pe1:devx=EOPNOTSUPP,CREATE_QP=0x8/0x19c6d6
//
//   LIST      FAILURE, or several with commas between them
//   FAILURE   [peN:][mlx5_N/]NAME=VALUE      of one PE of a job, of one NIC; else of all
//
// The names, and what they take, are the rows of failure_rows().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

inline constexpr unsigned kMostPorts = 2;  // of a NIC

enum class GidTable : std::uint8_t { whole, none, link_local, roce_v1 };
enum class AtomicsOf : std::uint8_t { all, standard, swapped, none };

// How firmware refuses a command: the first two words of its answer.
struct Refusal {
  std::uint8_t status = 0;
  std::uint32_t syndrome = 0;
};

// Another vendor's NIC, as libibverbs finds it.
struct OtherVendor {
  std::string_view name;  // as `driver=` has it
  std::uint16_t vendor = 0, device = 0;
  std::string_view module;
};

// What is broken of one NIC, and of the node that it is in. As it is made: nothing. Errors are
// errno values, and 0 where a call does what it should.
struct NicFailures {
  int node = 0;  // of opening /dev/infiniband/uverbs<n>
  const OtherVendor* other = nullptr;
  std::string name_begin = "mlx5_";
  int devx = 0;
  bool no_nc_page = false, no_bf_page = false;
  std::optional<std::uint64_t> pages, qps, cqs;  // as many as there may be
  bool doorbells_lost = false;
  int dma_buf = 0;
  bool no_dma = false;  // of registered memory
  std::optional<std::uint64_t> locked_bytes;
  unsigned ports = 1;
  std::array<std::uint8_t, kMostPorts> port_states = {4, 4};  // each as port_attr.state
  GidTable gids = GidTable::whole;
  std::optional<std::uint64_t> gids_move;  // after so many reads
  bool needs_grh = false;
  std::uint32_t mtu = 4096;
  AtomicsOf atomics = AtomicsOf::all;
  bool has_dc = true;
  bool bonded = false;  // its port is two ports of a card together (LAG)
  int route = 0;
  std::optional<std::uint32_t> pci_speed, pci_width;
  std::string iommu = "identity";
  bool acs_redirects = false;
  std::string numa_node = "0";
  std::uint32_t read_request_bytes = 4096;
  bool relaxed_ordering = true;
  std::string traffic_class;
  std::optional<std::uint64_t> handles, objects;  // of a control group
  std::map<std::uint16_t, Refusal> commands;      // by opcode
  std::map<std::string, int, std::less<>> calls;  // by name
  // Of the node.
  std::set<std::string, std::less<>> libraries, symbols;    // that are not there
  std::map<std::string, std::string, std::less<>> modules;  // with a version; "": not loaded

  int of_call(std::string_view name) const {
    const auto at = calls.find(name);
    return at == calls.end() ? 0 : at->second;
  }
};

struct FailureRow {
  std::string_view name;   // in capitals: stands for any of a kind
  std::string_view value;  // what it may be
  std::string_view what;   // the sentence
  // Whether the value is one.
  bool (*set)(NicFailures& to, std::string_view name, std::string_view value) = nullptr;
  bool of_node = false;  // not of a single NIC
};

// The table, in its order: CALL and COMMAND, which take what no other row has, are its last.
std::span<const FailureRow> failure_rows();
// The row that has the name; null if there is none.
const FailureRow* find_failure_row(std::string_view name);

class Failures {
 public:
  // Errors name the failure and what it may be.
  static Result<Failures> parse(const std::string& text);
  std::string text() const;
  bool empty() const { return items_.empty(); }

  // Those of the PE, and those of all; without one, those of all alone.
  Failures of_pe(std::optional<int> pe) const;
  // PEs that are named.
  std::set<int> pes() const;
  // Of this NIC, and of the node.
  NicFailures of_nic(int nic) const;
  // Of the node alone.
  NicFailures of_node() const { return of_nic(-1); }

 private:
  struct Item {
    std::optional<int> pe, nic;
    std::string name, value;
  };
  static Result<Item> parse_item(const std::string& text);

  std::vector<Item> items_;
};

inline constexpr const char* kFailVariable = "GDAKIT_VERBS_FAIL";

}  // namespace gdakit::softnic::uverbs

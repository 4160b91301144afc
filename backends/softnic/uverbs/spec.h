// Which soft ConnectXes a program finds: what `gdakit verbs` was told, as it hands it on.
//
//   GDAKIT_VERBS_SPEC=nics=2,model=7,link=roce,fabric=default
//   GDAKIT_VERBS_SPEC=nics=1,model=7,link=roce,address=eth0,fabric=default
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/uverbs/failures.h"
#include "backends/softnic/wire/udp_address.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

enum class LinkLayer : std::uint8_t { infiniband = 1, ethernet = 2 };  // as port_attr.link_layer

// What programs read of a model.
struct Model {
  int number = 0;  // ConnectX-number
  std::uint16_t pci_device = 0;
  std::uint32_t pci_speed = 0;  // PciLink::speed
  std::uint32_t part_id = 0;
  const char* hca_type = nullptr;
  const char* board_id = nullptr;
  const char* firmware = nullptr;
  std::uint8_t active_speed = 0;  // of a lane, as port_attr.active_speed
  const char* rate = nullptr;     // of four lanes
};
const Model* find_model(int number);
inline constexpr std::uint32_t kPciLanes = 16;

struct Spec {
  int nics = 1;
  const Model* model = find_model(7);
  LinkLayer link = LinkLayer::ethernet;
  // Where NICs of other hosts reach these (wire/nic_place.h); empty: they do not.
  std::string address;
  // What that is, by NIC, with the port of place 0.
  std::vector<UdpAddress> reached_at;
  std::string fabric = "default";
  Failures failures = {};  // not of the text

  // Errors name the key and what it may be.
  static Result<Spec> parse(const std::string& text);
  std::string text() const;
};

inline constexpr int kMostNics = 16;
inline constexpr const char* kSpecVariable = "GDAKIT_VERBS_SPEC";
// The folder that stands in for /sys.
inline constexpr const char* kSysfsVariable = "GDAKIT_VERBS_SYSFS";

// What names a NIC to its peers and to who looks for it.
class Identity {
 public:
  Identity(const Spec& spec, int index)
      : spec_(spec), index_(index), failures_(spec.failures.of_nic(index)) {}

  int index() const { return index_; }
  const Model& model() const { return *spec_.model; }
  LinkLayer link() const { return spec_.link; }
  // What is broken of it.
  const NicFailures& failures() const { return failures_; }
  std::string name() const { return failures_.name_begin + std::to_string(index_); }
  std::string file_name() const { return "uverbs" + std::to_string(index_); }
  std::string pci_address() const;
  // As query_device says it: major[63:32] minor[31:16] sub[15:0].
  std::uint64_t firmware_number() const;
  // Ports are numbered from 1 on; the first one's GUID is that of the device.
  unsigned ports() const { return failures_.ports; }
  std::uint64_t guid(unsigned port = 1) const { return 0x0c42a10300000001 + number_of(port); }
  // Of the first port, of Ethernet: its GUID without its middle.
  std::array<std::uint8_t, 6> mac() const;
  // Where other hosts reach it; null where they do not.
  const UdpAddress* reached_at() const {
    return spec_.reached_at.empty() ? nullptr : &spec_.reached_at[static_cast<unsigned>(index_)];
  }
  // That of the host which has its addresses.
  std::string interface() const;
  std::uint16_t lid(unsigned port = 1) const {
    return static_cast<std::uint16_t>(1 + number_of(port));
  }

  // fe80::/64 with the GUID as interface.
  Gid local_gid(unsigned port = 1) const;
  // Of Ethernet the address at which other hosts reach it, or ::ffff:127.0.0.<1 + index>, of second
  // ports <17 + index>; of InfiniBand the other one.
  Gid routable_gid(unsigned port = 1) const;
  // By the index of the port's table, which is as long for each port: of link layer Ethernet each
  // address twice, RoCE v1 and v2.
  int gids() const;
  Gid gid(int index, unsigned port = 1) const;
  // 0 InfiniBand, 1 RoCE v1, 2 RoCE v2, as ib_uverbs_gid_entry.
  std::uint32_t gid_type(int index) const;

 private:
  // Behind the first ports of all NICs that there may be come the second ones.
  unsigned number_of(unsigned port) const {
    return static_cast<unsigned>(index_) + (port - 1) * unsigned{kMostNics};
  }

  Spec spec_;
  int index_;
  NicFailures failures_;
};

}  // namespace gdakit::softnic::uverbs

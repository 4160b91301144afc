// A rig of datagram queue pairs, and who has which address there.
//
//   DatagramRig rig;
//   rig.post_receive(0, 100);
//   rig.a.post(rig.datagram(0, 60));   // from a's heap to b
#pragma once

#include <optional>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "core/format/address_vector.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

enum class AddressKind : std::uint8_t { ipv4, ipv6, infiniband };

// Endpoints 0 to 9 have addresses; what others are asked for, nobody has.
class Addresses final : public AddressResolver {
 public:
  explicit Addresses(AddressKind kind) : kind_(kind) {}

  std::optional<Endpoint> endpoint_of(const AddressVector& address) override;
  PortAddress address_of(Endpoint endpoint) override;

  std::vector<AddressVector> asked;  // by endpoint_of

 private:
  AddressKind kind_;
};

// The address vector of a WQE: in its long form, or in the short one, which has no GID.
std::vector<format::Segment> long_av(const PortAddress& to, QpNumber qpn, std::uint32_t qkey);
std::vector<format::Segment> short_av(const PortAddress& to, QpNumber qpn, std::uint32_t qkey);

inline constexpr std::uint32_t kQkey = 0x11223344;

// The addresses of its engines, made before them.
struct WithAddresses {
  Addresses addresses;
};

class DatagramRig : private WithAddresses, public EngineRig {
 public:
  explicit DatagramRig(AddressKind kind = AddressKind::ipv4, RigOptions options = {});

  using WithAddresses::addresses;

  PortAddress address_of(const Side& side) { return addresses.address_of(side.wire->endpoint()); }
  // From a's heap to b, with the right Q_Key.
  Wqe datagram(std::size_t from, std::uint32_t size);
  Wqe datagram_of(const std::vector<format::Segment>& av, std::size_t from, std::uint32_t size);
  // A receive WQE of b, with room for the GRH.
  void post_receive(std::size_t offset, std::uint32_t size);
  void ring_and_run();
};

}  // namespace gdakit::softnic::test

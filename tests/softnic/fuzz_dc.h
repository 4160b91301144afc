// DC in a fuzz run: where WQEs go, and what a broken peer may send.
#pragma once

#include <optional>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/wire/packet.h"
#include "tests/softnic/fuzz_input.h"
#include "tests/softnic/fuzz_side.h"

namespace gdakit::softnic::test {

// The last byte of a GID is the endpoint that has it.
class FuzzAddresses final : public AddressResolver {
 public:
  std::optional<Endpoint> endpoint_of(const AddressVector& address) override;
  PortAddress address_of(Endpoint endpoint) override;
};

// The address vector of a WQE, mostly of the peer's target.
std::vector<format::Segment> some_av(Input& input, const FuzzSide& peer);

// Makes the packet, which is of some opcode for the peer, one of the side's initiator or target.
void make_dc(Input& input, const FuzzSide& side, const FuzzSide& peer, PacketHeader& header);

}  // namespace gdakit::softnic::test

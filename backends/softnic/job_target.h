// A PE's target of DC, to which the initiators of all its peers post, and how their WQEs name it.
//
// The NICs of a job are known to one another by the endpoints of their wire. Address vectors name
// ports by GID, so here an endpoint has a GID: its number, in the last four bytes of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/softnic/engine/nic.h"
#include "backends/softnic/objects/addresses.h"
#include "core/base/result.h"
#include "core/format/address_vector.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

// Of a job of so many NICs, whose endpoints are their numbers.
class JobAddresses final : public AddressResolver {
 public:
  explicit JobAddresses(std::uint32_t job_size) : job_size_(job_size) {}

  std::optional<Endpoint> endpoint_of(const AddressVector& address) override;
  PortAddress address_of(Endpoint endpoint) override;

 private:
  std::uint32_t job_size_;
};

// What a PE tells the others of its target.
struct TargetCard {
  std::uint64_t access_key;
  Endpoint endpoint;
  DctNumber dct;
};
static_assert(sizeof(TargetCard) == 16);

// The address vector of that target.
format::AvSegment address_of_target(const TargetCard& card);

// Operations of RDMA and atomics alone: the target's receive queue has no WQE.
class JobTarget {
 public:
  static Result<std::unique_ptr<JobTarget>> create(Nic& nic, PdNumber pd, MemoryProvider& memory);

  const TargetCard& card() const { return card_; }

 private:
  JobTarget(std::unique_ptr<MemoryBlock> memory, const TargetCard& card)
      : memory_(std::move(memory)), card_(card) {}

  std::unique_ptr<MemoryBlock> memory_;  // of its queues; the NIC has them until its end
  TargetCard card_;
};

}  // namespace gdakit::softnic

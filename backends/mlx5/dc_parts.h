// A PE's part in DC: whether its NIC has it, the target that its peers' initiators reach it by, and
// what WQEs of its own initiators say of those of its peers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "backends/mlx5/connection_card.h"
#include "backends/mlx5/dc_ability.h"
#include "backends/mlx5/dc_target.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_pair.h"
#include "backends/mlx5/way.h"
#include "core/format/address_vector.h"

namespace gdakit::mlx5 {

class DcParts {
 public:
  explicit DcParts(const OpenNic& nic)
      : nic_(nic), ability_(query_dc(nic.libraries(), nic.context(), nic.address().log_reads)) {}

  bool has_dc() const { return ability_.lacks.empty(); }
  // Errors (unavailable): the NIC has no DC, why, and what to do.
  Result<void> usable() const;

  // Initiators and targets have one MTU, which no connection agrees on: by default the port's own.
  void set_mtu(std::uint8_t mtu) { mtu_ = mtu; }

  // What initiators are made with. Errors: as usable()'s; a call that failed, by its name.
  Result<InitiatorOptions> initiator_options(DoorbellPages& pages);
  // Errors (unavailable): the NIC's GID has moved since the target was made, as far as the NIC
  // knows.
  Result<void> in_place() const;
  // The card of the target, which the first call makes. Errors: as initiator_options()'s.
  Result<Bytes> target(DoorbellPages& pages, std::uint8_t counter_set);
  // Errors: as read_dc_card's; the peer's target has another MTU (invalid_argument); as find_way's.
  // Each call for a card names another source port of RoCE v2, so that networks spread what goes to
  // one target.
  Result<format::AvSegment> address(const Bytes& card);

 private:
  struct Reached {
    Way way;
    std::uint32_t addresses = 0;  // that were given out
  };
  Result<Reached*> reach(const Bytes& bytes, const DcCard& card);
  Result<const DcReceives*> receives(DoorbellPages& pages);

  const OpenNic& nic_;
  const DcAbility ability_;
  std::uint8_t mtu_ = nic_.address().mtu;
  std::unique_ptr<DcReceives> receives_;
  std::optional<DcTarget> target_;  // goes before the receives
  std::uint64_t key_ = 0;
  std::map<Bytes, Reached> reached_;  // by card
};

}  // namespace gdakit::mlx5

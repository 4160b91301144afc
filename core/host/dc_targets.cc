#include "core/host/dc_targets.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/host/bootstrap/part.h"
#include "core/host/card_list.h"

namespace gdakit {
namespace {

// The cards of this PE's targets, by NIC.
Result<Bytes> make_targets(Backend& backend, std::uint32_t nics) {
  Bytes cards;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    const Result<Bytes> card = backend.nic(nic).dc_target();
    if (!card)
      return card.error().within(nics == 1 ? "DC target"
                                           : "DC target of NIC " + std::to_string(nic));
    cards.insert(cards.end(), card->begin(), card->end());
  }
  return cards;
}

// What the NIC number `nic` says of the target of `pe`, which gave `blob`.
Result<format::AvSegment> address_of(Backend& backend, std::uint32_t nic, std::uint32_t nics,
                                     std::size_t pe, const Bytes& blob) {
  const Result<Bytes> cards = part_of_blob(blob, pe, "its DC target");
  if (!cards) return cards.error();
  const std::string name = "PE " + std::to_string(pe);
  const std::span<const std::byte> card = nth_card(*cards, nic, nics);
  if (card.empty()) {
    return Error(Code::invalid_argument, "DC targets of " + name + ": it gave " +
                                             std::to_string(cards->size()) +
                                             " bytes of cards for " + std::to_string(nics) +
                                             " NICs; do all PEs run the same program?");
  }
  const auto address = backend.nic(nic).dc_address(Bytes(card.begin(), card.end()));
  if (!address) return address.error().within("address of the DC target of " + name);
  return address;
}

}  // namespace

Result<std::unique_ptr<DcTargets>> DcTargets::exchange(Bootstrap& bootstrap, Backend& backend,
                                                       MemoryProvider& memory, std::uint32_t rows) {
  const std::uint32_t nics = backend.limits().nics;
  const Result<Bytes> mine = make_targets(backend, nics);
  const auto blobs = bootstrap.allgather(blob_of_part(mine));
  if (!mine) return mine.error();
  if (!blobs) return blobs.error().within("exchange of DC targets");
  std::vector<format::AvSegment> addresses;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::size_t pe = 0; pe < blobs->size(); ++pe) {
      const auto address = address_of(backend, row % nics, nics, pe, (*blobs)[pe]);
      if (!address) return address.error();
      addresses.push_back(*address);
    }
  }
  std::unique_ptr<DcTargets> targets(new DcTargets(rows, blobs->size()));
  const std::uint64_t bytes = addresses.size() * sizeof(format::AvSegment);
  auto table = memory.allocate(bytes, Place::device);
  if (!table) return table.error().within("addresses of DC targets");
  targets->table_ = std::move(*table);
  if (auto written = targets->table_->write(0, addresses.data(), bytes); !written) {
    return written.error();
  }
  return targets;
}

const format::Segment* DcTargets::address(std::uint32_t row, int pe) const {
  constexpr std::size_t kSegments = sizeof(format::AvSegment) / sizeof(format::Segment);
  const std::size_t at = row % rows_ * n_pes_ + static_cast<std::size_t>(pe);
  return static_cast<const format::Segment*>(table_->data()) + at * kSegments;
}

}  // namespace gdakit

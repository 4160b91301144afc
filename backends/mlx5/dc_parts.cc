#include "backends/mlx5/dc_parts.h"

#include <string>
#include <utility>

#include "backends/mlx5/gids.h"
#include "backends/mlx5/ports.h"
#include "core/base/random.h"

namespace gdakit::mlx5 {
namespace {

std::string text_of_mtu(std::uint8_t mtu) {
  return std::to_string(bytes_of(static_cast<ibv_mtu>(mtu)));
}

}  // namespace

Result<void> DcParts::usable() const {
  if (has_dc()) return {};
  return Error(Code::unavailable, "queues of DC on " + nic_.name() + ": " + ability_.lacks +
                                      "; GDAKIT_QUEUE_TYPE=rc does without");
}

Result<InitiatorOptions> DcParts::initiator_options(DoorbellPages& pages) {
  const Result<const DcReceives*> shared = receives(pages);
  if (!shared) return shared.error();
  return InitiatorOptions{*shared, mtu_, ability_.log_reads};
}

// Made by the first call.
Result<const DcReceives*> DcParts::receives(DoorbellPages& pages) {
  if (receives_ != nullptr) return receives_.get();
  if (auto has = usable(); !has) return has.error();
  const Result<DoorbellPages::Doorbell> doorbell = pages.take();
  if (!doorbell) return doorbell.error();
  pages.give_back(doorbell->page);  // nobody rings for these; it stays a page of the NIC's
  Result<std::unique_ptr<DcReceives>> made = DcReceives::make(nic_, doorbell->page->page_id);
  if (!made) return made.error();
  receives_ = std::move(*made);
  return receives_.get();
}

// A target answers from the address at its index, which then is another one, or none.
Result<void> DcParts::in_place() const {
  if (!target_ || target_->gid_index() == nic_.gid_index()) return {};
  return Error(Code::unavailable,
               "port " + std::to_string(nic_.port()) + " of " + nic_.device() + ": its GID " +
                   text_of(nic_.address().gid) + " has moved from index " +
                   std::to_string(target_->gid_index()) + " to " +
                   std::to_string(nic_.gid_index()) +
                   " since the PE's target of DC was made, which no command changes and which "
                   "peers know by its number; start the job again when addresses stay, or with "
                   "GDAKIT_QUEUE_TYPE=rc, whose later connections follow them");
}

Result<Bytes> DcParts::target(DoorbellPages& pages, std::uint8_t counter_set) {
  if (!target_) {
    const Result<const DcReceives*> shared = receives(pages);
    if (!shared) return shared.error();
    const std::uint64_t key = random_u64();
    Result<DcTarget> made =
        DcTarget::create(nic_, **shared, {.key = key, .mtu = mtu_, .counter_set = counter_set});
    if (!made) return made.error();
    target_.emplace(std::move(*made));
    key_ = key;
  }
  DcCard card;
  card.dctn = target_->number();
  card.key = key_;
  card.address = nic_.address();
  card.address.mtu = mtu_;
  return bytes_of(card);
}

// The way is looked for by the first call for a card: of Ethernet, by an address handle.
Result<DcParts::Reached*> DcParts::reach(const Bytes& bytes, const DcCard& card) {
  const auto found = reached_.find(bytes);
  if (found != reached_.end()) return &found->second;
  const std::uint32_t own = target_ ? target_->number() : 0;
  const Result<Way> way = find_way(nic_, card.address, own, card.dctn);
  if (!way) return way.error();
  return &reached_.emplace(bytes, Reached{*way}).first->second;
}

Result<format::AvSegment> DcParts::address(const Bytes& bytes) {
  const Result<DcCard> card = read_dc_card(bytes, nic_);
  if (!card) return card.error();
  if (card->address.mtu != mtu_) {
    return Error(Code::invalid_argument,
                 "of " + nic_.name() + " and the peer's NIC one has targets of DC of an MTU of " +
                     text_of_mtu(mtu_) + " bytes and the other of " +
                     text_of_mtu(card->address.mtu) + "; do all PEs have GDAKIT_QUEUE_TYPE=dc?");
  }
  const Result<Reached*> reached = reach(bytes, *card);
  if (!reached) return reached.error();
  Way way = (*reached)->way;
  way.source_port = nth_source_port(way, (*reached)->addresses++);
  format::AvSegment vector = vector_of(nic_, way);
  vector.dqp_dct = Be32{format::kExtendedAv | card->dctn};
  format::set_dc_key(vector, card->key);
  return vector;
}

}  // namespace gdakit::mlx5

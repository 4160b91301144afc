#include "core/host/queue_rows.h"

#include <span>
#include <string>
#include <utility>

#include "core/host/bootstrap/part.h"
#include "core/host/bootstrap/same_on_all_pes.h"
#include "core/host/card_list.h"

namespace gdakit {
namespace {

// What each PE gave this one. Every PE sees the same error: one that has made none tells all.
Result<std::vector<Bytes>> parts_of(const std::vector<Bytes>& blobs) {
  std::vector<Bytes> parts;
  for (const Bytes& blob : blobs) {
    Result<Bytes> part = part_of_blob(blob, parts.size(), "its part of the queues");
    if (!part) return part.error();
    parts.push_back(std::move(*part));
  }
  return parts;
}

// The card for this PE's queue of row `row`.
Result<Bytes> card_of_row(const Bytes& cards, std::uint32_t row, std::uint32_t count, int peer) {
  const std::span<const std::byte> card = nth_card(cards, row, count);
  if (!card.empty()) return Bytes(card.begin(), card.end());
  return Error(Code::invalid_argument, "connection to PE " + std::to_string(peer) + ": it gave " +
                                           std::to_string(cards.size()) + " bytes of cards for " +
                                           std::to_string(count) +
                                           " queues; do all PEs run the same program?");
}

}  // namespace

Result<RowsOfQueues> QueueRows::make(const QueueShape& shape, std::uint32_t count,
                                     const std::vector<int>& peers) {
  Result<RowsOfQueues> mine = make_own(shape, count, peers);
  // All PEs come here, whether their own part succeeded or not.
  Result<std::vector<Bytes>> blobs = exchange_cards(mine, peers);
  if (!mine) return mine.error();
  if (!blobs) return blobs.error().within("exchange of connection cards");
  const Result<std::vector<Bytes>> cards = parts_of(*blobs);
  if (!cards) return cards.error();
  const Result<void> ready = connect(*mine, count, peers, *cards);
  // A PE may post as soon as this returns, so every other end must be connected by then.
  if (Result<void> all = all_succeed(bootstrap_, ready); !all) return all.error();
  return mine;
}

Result<RowsOfQueues> QueueRows::make_own(const QueueShape& shape, std::uint32_t count,
                                         const std::vector<int>& peers) {
  RowsOfQueues made;
  if (peers.empty()) return made;
  auto arena = QueueArena::create(shape, count, peers.size(), backend_, memory_);
  if (!arena) return arena.error();
  made.arena = std::move(*arena);
  for (std::uint32_t row = 0; row < count; ++row) {
    for (const int peer : peers) {
      auto queue = HostQueue::create(made.arena, made.queues.size(), backend_, peer);
      if (!queue) return queue.error();
      made.queues.push_back(std::move(*queue));
    }
  }
  return made;
}

// Each peer gets the cards of the queues to it, of all rows; all PEs hear of one that has made
// none.
Result<std::vector<Bytes>> QueueRows::exchange_cards(const Result<RowsOfQueues>& made,
                                                     const std::vector<int>& peers) {
  const auto n_pes = static_cast<std::size_t>(bootstrap_.size());
  if (!made) return bootstrap_.alltoall(std::vector(n_pes, blob_of_part(made.error())));
  std::vector<Bytes> to_each(n_pes, blob_of_part(Bytes()));
  for (std::size_t i = 0; i < made->queues.size(); ++i) {
    const Bytes& card = made->queues[i]->card();
    Bytes& to = to_each[static_cast<std::size_t>(peers[i % peers.size()])];
    to.insert(to.end(), card.begin(), card.end());
  }
  return bootstrap_.alltoall(std::move(to_each));
}

Result<void> QueueRows::connect(const RowsOfQueues& made, std::uint32_t count,
                                const std::vector<int>& peers, const std::vector<Bytes>& cards) {
  for (std::size_t i = 0; i < made.queues.size(); ++i) {
    const int peer = peers[i % peers.size()];
    const auto row = static_cast<std::uint32_t>(i / peers.size());
    const Result<Bytes> card = card_of_row(cards[static_cast<std::size_t>(peer)], row, count, peer);
    if (!card) return card.error();
    const Result<void> connected = backend_.connect_queue(made.queues[i]->number(), *card);
    if (connected) continue;
    return connected.error().within("connection to PE " + std::to_string(peer));
  }
  return {};
}

}  // namespace gdakit

#include "core/host/queue_rows.h"

#include <string>
#include <utility>

#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

// Every PE sees the same: what a PE could not make has no cards.
Result<void> check_cards(const std::vector<Bytes>& cards) {
  for (std::size_t pe = 0; pe < cards.size(); ++pe) {
    if (!cards[pe].empty()) continue;
    return Error(Code::exhausted,
                 "PE " + std::to_string(pe) + " could not make its part of the queues");
  }
  return {};
}

}  // namespace

Result<HostQueues> QueueRows::make(const QueueShape& shape, std::uint32_t count, QueueState* states,
                                   const std::function<Result<void>(const HostQueues&)>& show) {
  Result<HostQueues> mine = make_own(shape, count, states);
  const HostQueues none;
  const HostQueues& made = mine ? *mine : none;
  // All PEs come here, whether their own part succeeded or not; one that failed has no cards.
  Result<std::vector<Bytes>> cards = exchange_cards(made);
  if (!mine) return mine.error();
  if (!cards) return cards.error().within("exchange of connection cards");
  if (Result<void> complete = check_cards(*cards); !complete) return complete.error();
  Result<void> ready = connect(made, *cards);
  if (ready) ready = show(made);
  // A PE may post as soon as this returns, so every other end must be connected by then.
  if (Result<void> all = all_succeed(bootstrap_, ready); !all) return all.error();
  return mine;
}

Result<HostQueues> QueueRows::make_own(const QueueShape& shape, std::uint32_t count,
                                       QueueState* states) {
  HostQueues made;
  for (std::uint32_t row = 0; row < count; ++row) {
    for (int peer = 0; peer < bootstrap_.size(); ++peer) {
      auto queue = HostQueue::create(shape, backend_, memory_, states++, peer);
      if (!queue) return queue.error();
      made.push_back(std::move(*queue));
    }
  }
  return made;
}

// Each peer gets the cards of the queues to it, of all rows, which are equally long.
Result<std::vector<Bytes>> QueueRows::exchange_cards(const HostQueues& made) {
  const auto n = static_cast<std::size_t>(bootstrap_.size());
  std::vector<Bytes> to_each(n);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bytes& card = made[i]->card();
    to_each[i % n].insert(to_each[i % n].end(), card.begin(), card.end());
  }
  return bootstrap_.alltoall(std::move(to_each));
}

Result<void> QueueRows::connect(const HostQueues& made, const std::vector<Bytes>& cards) {
  const std::size_t n = cards.size();
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bytes& of_peer = cards[i % n];
    const std::size_t rows = made.size() / n;
    const std::size_t bytes = of_peer.size() / rows;
    if (of_peer.size() % rows != 0) {
      return Error(Code::invalid_argument, "connection to PE " + std::to_string(i % n) +
                                               ": it gave " + std::to_string(of_peer.size()) +
                                               " bytes of cards for " + std::to_string(rows) +
                                               " queues; do all PEs run the same program?");
    }
    const auto card = of_peer.begin() + static_cast<std::ptrdiff_t>(i / n * bytes);
    const Result<void> connected = backend_.connect_queue(
        made[i]->number(), Bytes(card, card + static_cast<std::ptrdiff_t>(bytes)));
    if (connected) continue;
    return connected.error().within("connection to PE " + std::to_string(i % n));
  }
  return {};
}

}  // namespace gdakit

#include "core/host/transport_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/base/log.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

constexpr std::size_t kBusText = 32;

std::string pe_name(std::size_t pe) { return "PE " + std::to_string(pe); }

}  // namespace

// What a PE tells the others of itself. Whatever bytes come are good for every field: 0 is no, all
// else is yes.
struct TransportMap::Card {
  TransportChoice choice{};
  std::uint8_t automatic = 0;   // what `auto` means here is direct
  std::uint8_t takes_part = 0;  // its backend lets PEs map each other's heaps
  std::uint8_t needs_cst = 0;   // its device does not order what the NIC writes
  ProcessToken process{};
  HostName host{};
  std::uint64_t base = 0;            // of its heap, in its own process
  std::array<char, kBusText> bus{};  // of its GPU; empty for host memory
};

DirectPeers direct_peers(const std::vector<std::vector<Reach>>& reach, int me) {
  const std::size_t n = reach.size();
  const auto self = static_cast<std::size_t>(me);
  DirectPeers peers{std::vector<bool>(n), std::vector<bool>(n), std::vector<bool>(n)};
  const auto reaches = [&](std::size_t from, std::size_t to) {
    return reach[from][to] != Reach::none;
  };
  for (std::size_t pe = 0; pe < n; ++pe) {
    peers.direct[pe] = reaches(self, pe);
    peers.atomics[pe] = std::all_of(reach.begin(), reach.end(),
                                    [pe](const auto& row) { return row[pe] == Reach::atomics; });
    peers.alike[pe] = true;
    for (std::size_t to = 0; to < n; ++to) {
      // Everyone reaches its own heap, in whatever way.
      const bool mine = to == self || reaches(self, to);
      if (mine != (to == pe || reaches(pe, to))) peers.alike[pe] = false;
    }
    peers.mixed = peers.mixed || (peers.direct[pe] && !peers.atomics[pe]);
  }
  return peers;
}

TransportMap::TransportMap(Bootstrap& bootstrap, MemoryProvider& memory)
    : bootstrap_(bootstrap), memory_(memory) {
  const auto n = static_cast<std::size_t>(bootstrap.size());
  reach_.resize(n, Reach::none);
  bases_.resize(n);
  why_not_.resize(n);
}

Result<std::unique_ptr<TransportMap>> TransportMap::create(const Options& options,
                                                           Bootstrap& bootstrap,
                                                           const Backend& backend,
                                                           MemoryProvider& memory,
                                                           const AddressRange& heap) {
  std::unique_ptr<TransportMap> map(new TransportMap(bootstrap, memory));
  if (Result<void> chosen = map->choose(options, backend, heap); !chosen) return chosen.error();
  return map;
}

Result<void> TransportMap::choose(const Options& options, const Backend& backend,
                                  const AddressRange& heap) {
  Card mine;
  mine.choice = options.transport;
  mine.automatic = backend.limits().auto_direct ? 1 : 0;
  mine.takes_part = backend.limits().direct_peers ? 1 : 0;
  mine.needs_cst = backend.limits().needs_cst ? 1 : 0;
  mine.process = this_process();
  mine.host = this_host();
  mine.base = reinterpret_cast<std::uint64_t>(heap.base());
  memory_.bus().copy(mine.bus.data(), mine.bus.size() - 1);
  Result<std::vector<Card>> cards = allgather_value(bootstrap_, mine);
  if (!cards) return cards.error();
  for (Card& card : *cards) card.bus.back() = '\0';
  const auto choice = [](const Card& card) { return transport_choice_name(card.choice); };
  if (auto same = check_same("GDAKIT_TRANSPORT", *cards, choice); !same) return same;
  const auto found = std::find_if(cards->begin(), cards->end(),
                                  [](const Card& card) { return card.needs_cst != 0; });
  if (found != cards->end()) without_order_ = static_cast<int>(found - cards->begin());
  return choose_way(options, *cards);
}

// Every PE sees the same cards, and so takes the same way.
Result<void> TransportMap::choose_way(const Options& options, const std::vector<Card>& cards) {
  const auto all = [&cards](auto&& holds) {
    return std::all_of(cards.begin(), cards.end(), [&](const Card& card) { return holds(card); });
  };
  const Card& mine = cards[static_cast<std::size_t>(bootstrap_.rank())];
  if (options.transport == TransportChoice::nic) {
    all_by_nic("GDAKIT_TRANSPORT=nic");
  } else if (options.transport == TransportChoice::automatic &&
             !all([](const Card& card) { return card.automatic != 0; })) {
    all_by_nic("what GDAKIT_TRANSPORT=auto means with this NIC");
  } else if (all([&](const Card& card) { return card.process == mine.process; })) {
    for (std::size_t pe = 0; pe < cards.size(); ++pe) bases_[pe] = cards[pe].base;
    for (std::size_t pe = 0; pe < cards.size(); ++pe) {
      reach_[pe] = reach_of(mine, cards[pe], static_cast<int>(pe));
    }
  } else if (!all([&](const Card& card) { return card.host == mine.host; })) {
    all_by_nic("the PEs of the job are processes of several hosts");
  } else {
    auto sharing = MemorySharing::open(bootstrap_, memory_, options.timeout);
    if (!sharing) {
      all_by_nic(sharing.error().message());
      return {};
    }
    sharing_ = std::move(*sharing);
    for (std::size_t pe = 0; pe < cards.size(); ++pe) {
      reach_[pe] = reach_of(mine, cards[pe], static_cast<int>(pe));
    }
  }
  return {};
}

// What this PE can do to the memory of another one, once it has an address for it.
Reach TransportMap::reach_of(const Card& mine, const Card& other, int pe) {
  if (pe == bootstrap_.rank()) return Reach::atomics;
  std::string& why_not = why_not_[static_cast<std::size_t>(pe)];
  if (mine.takes_part == 0 || other.takes_part == 0) {
    why_not = "the backend of " +
              pe_name(static_cast<std::size_t>(mine.takes_part != 0 ? pe : bootstrap_.rank())) +
              " leaves its heap to the NIC";
    return Reach::none;
  }
  if (mine.bus == other.bus) return Reach::atomics;  // one GPU, or host memory
  const GpuReach gpu = memory_.reach(other.bus.data());
  if (gpu == GpuReach::atomics) return Reach::atomics;
  // Another process's GPU may be hidden here, and its memory mapped all the same.
  if (gpu == GpuReach::loads_and_stores || sharing_ != nullptr) return Reach::loads_and_stores;
  why_not =
      std::string("GPU ") + mine.bus.data() + " cannot reach the memory of GPU " + other.bus.data();
  return Reach::none;
}

void TransportMap::all_by_nic(const std::string& why) {
  std::fill(reach_.begin(), reach_.end(), Reach::none);
  std::fill(why_not_.begin(), why_not_.end(), why);
}

Result<void> TransportMap::share(AddressRange& heap) {
  if (sharing_ != nullptr) {
    Result<void> shared = sharing_->share(heap, [] {});
    if (!shared && concluded_) return shared;
    if (shared) {
      find_addresses();
    } else {
      all_by_nic(shared.error().message());
      sharing_.reset();
    }
    bases_[static_cast<std::size_t>(bootstrap_.rank())] =
        reinterpret_cast<std::uint64_t>(heap.base());
  }
  return concluded_ ? Result<void>() : conclude();
}

void TransportMap::find_addresses() {
  for (int pe = 0; pe < bootstrap_.size(); ++pe) {
    const AddressRange* const range = sharing_->peer(pe);
    if (range == nullptr) continue;
    bases_[static_cast<std::size_t>(pe)] = reinterpret_cast<std::uint64_t>(range->base());
  }
}

// Tells the others what this PE reaches, and concludes what that makes of the job.
Result<void> TransportMap::conclude() {
  // A PE that reaches nobody else has nothing to gain: its own heap may stay with the NIC.
  const auto reached =
      std::count_if(reach_.begin(), reach_.end(), [](Reach reach) { return reach != Reach::none; });
  if (reached == 1 && bootstrap_.size() > 1) {
    reach_[static_cast<std::size_t>(bootstrap_.rank())] = Reach::none;
  }
  const Result<std::vector<Bytes>> rows =
      bootstrap_.allgather(to_bytes(reach_.data(), reach_.size()));
  if (!rows) return rows.error();
  std::vector<std::vector<Reach>> reach(rows->size(), std::vector<Reach>(rows->size()));
  for (std::size_t pe = 0; pe < rows->size(); ++pe) {
    if ((*rows)[pe].size() != rows->size()) {
      return Error(Code::invalid_argument, "transport map: " + pe_name(pe) +
                                               " gave no row; do all PEs run the same program?");
    }
    std::transform((*rows)[pe].begin(), (*rows)[pe].end(), reach[pe].begin(),
                   [](std::byte byte) { return static_cast<Reach>(byte); });
  }
  refuse_without_order(reach);
  peers_ = direct_peers(reach, bootstrap_.rank());
  concluded_ = true;
  return write_tables();
}

void TransportMap::refuse_without_order(std::vector<std::vector<Reach>>& reach) {
  const auto all_are = [&reach](Reach one) {
    return std::all_of(reach.begin(), reach.end(), [one](const auto& row) {
      return std::count(row.begin(), row.end(), one) == std::ptrdiff_t(row.size());
    });
  };
  if (without_order_ < 0 || all_are(Reach::atomics) || all_are(Reach::none)) return;
  all_by_nic("the GPU of " + pe_name(static_cast<std::size_t>(without_order_)) +
             " does not order what the NIC writes, and not all PEs reach each other by atomics");
  std::fill(reach.begin(), reach.end(), reach_);
}

Result<void> TransportMap::write_tables() {
  const std::size_t n = bases_.size();
  if (std::find(peers_.direct.begin(), peers_.direct.end(), true) == peers_.direct.end()) return {};
  std::vector<std::uint64_t> tables(2 * n);
  for (std::size_t pe = 0; pe < n; ++pe) {
    if (peers_.direct[pe]) tables[pe] = bases_[pe];
    if (peers_.direct[pe] && peers_.atomics[pe]) tables[n + pe] = bases_[pe];
  }
  const std::uint64_t bytes = tables.size() * sizeof(tables[0]);
  Result<std::unique_ptr<MemoryBlock>> block = memory_.allocate(bytes, Place::device);
  if (!block) return block.error().within("transport map");
  table_ = std::move(*block);
  return table_->write(0, tables.data(), bytes);
}

void TransportMap::show(HeapView& view) const {
  if (table_ == nullptr) return;
  view.direct_bases = static_cast<const std::uint64_t*>(table_->data());
  view.direct_atomic_bases = view.direct_bases + bases_.size();
  for (std::size_t pe = 0; pe < bases_.size() && pe < std::size_t{kNearPes}; ++pe) {
    view.direct_near[pe] = peers_.direct[pe] && peers_.atomics[pe] ? bases_[pe] : 0;
  }
  view.direct_mixed = peers_.mixed;
  view.direct_only =
      std::find(peers_.atomics.begin(), peers_.atomics.end(), false) == peers_.atomics.end();
}

std::string TransportMap::describe(int pe) const {
  const auto index = static_cast<std::size_t>(pe);
  if (peers_.atomics[index]) return "loads, stores and atomics";
  if (peers_.direct[index]) {
    return "loads and stores; atomics and signals through the NIC, as not every PE reaches that "
           "heap by atomics";
  }
  const std::string& why = why_not_[index];
  return why.empty() ? "the NIC: no other PE is reached either" : "the NIC: " + why;
}

std::string TransportMap::summary() const {
  std::map<std::string, std::string> lines;
  for (std::size_t pe = 0; pe < bases_.size(); ++pe) {
    std::string& numbers = lines[describe(static_cast<int>(pe))];
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(pe);
  }
  std::string text;
  for (const auto& [sentence, numbers] : lines) {
    const bool many = numbers.find(',') != std::string::npos;
    text +=
        (text.empty() ? "" : "\n") + std::string(many ? "PEs " : "PE ") + numbers + ": " + sentence;
  }
  return text;
}

}  // namespace gdakit

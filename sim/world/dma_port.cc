// Reads: atoms, their order, flushes. Writes are in dma_write.cc.
#include "sim/world/dma_port.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/assert.h"
#include "core/format/wqe.h"

namespace gdakit::sim {
namespace {

constexpr std::uint32_t kRecordWord = 4;
constexpr std::size_t kPlacers = 3;

bool uses_relaxed(const Knobs& knobs, const Layout& layout) {
  return knobs.inbound_order == InboundOrder::none ||
         knobs.payload_write_order == PayloadOrder::relaxed ||
         knobs.signal_path == SignalPath::relaxed ||
         std::any_of(layout.regions().begin(), layout.regions().end(),
                     [](const Region& region) { return region.inbound == Inbound::relaxed; });
}

}  // namespace

Scope nic_scope(const Knobs& knobs, const Layout& layout) {
  const bool reaches = knobs.gpu_scope_reaches_nic == YesNo::yes && layout.all_of_gpu();
  return reaches ? Scope::gpu : Scope::system;
}

weak::Place nic_place(const Knobs& knobs, const Layout& layout, std::uint32_t gpu,
                      std::uint32_t own) {
  weak::Place place;
  place.block = own;
  place.gpu = nic_scope(knobs, layout) == Scope::gpu ? gpu : own;
  place.device = true;
  return place;
}

std::uint32_t SimDma::access_size(weak::Address at, std::size_t size) {
  std::uint32_t access = 8;
  while (access > size || at % access != 0) access /= 2;
  return access;
}

SimDma::SimDma(weak::Memory& memory, Chooser& chooser, const Knobs& knobs,
               const AddressSpace& space, const Layout& layout, const PortPlace& place)
    : memory_(memory),
      chooser_(chooser),
      knobs_(knobs),
      space_(space),
      layout_(layout),
      place_(place) {
  const auto add = [this] {
    const weak::AgentId agent = memory_.add_agent(place_.nic);
    memory_.set_lane(agent, place_.lane);
    return agent;
  };
  ordered_ = add();
  relaxed_ = uses_relaxed(knobs, layout) ? add() : ordered_;
  split_ = knobs.signal_path == SignalPath::split ? add() : ordered_;
  while (places_in_any_order(knobs) && placers_.size() < kPlacers) placers_.push_back(add());
}

// The region that holds all of [at, at + size); null, and a finding, if none does.
const Region* SimDma::region_at(softnic::DmaAddress at, std::size_t size, const char* what) {
  if (space_.contains(at.value, size)) {
    const std::uint64_t offset = space_.offset(at.value);
    const Region* const region = layout_.find(offset);
    const bool fits = region != nullptr && offset + size <= region->end;
    if (fits && region->kind != RegionKind::doorbell) return region;
  }
  memory_.find(FindingKind::stray, "the NIC of PE " + std::to_string(place_.pe) + " " + what + " " +
                                       std::to_string(size) + " bytes at virtual address " +
                                       std::to_string(at.value) +
                                       ", which are not all in one region of the PE's memory");
  return nullptr;
}

softnic::DmaOp SimDma::read(void* to, softnic::DmaAddress from, std::size_t size) {
  if (size == 0) return {};
  const Region* const region = region_at(from, size, "reads");
  if (region == nullptr) {
    std::memset(to, 0, size);
    return {};
  }
  const std::uint64_t op = queue_read(static_cast<std::uint8_t*>(to), *region,
                                      space_.model(place_.pe, from.value), size);
  if (region->kind == RegionKind::sink) begin_flush(op);
  if (region->kind == RegionKind::slots && knobs_.wqe_prefetch == Prefetch::on) {
    prefetch(*region, space_.offset(from.value) + size);
  }
  return {op};
}

std::uint64_t SimDma::queue_read(std::uint8_t* to, const Region& region, weak::Address from,
                                 std::size_t size) {
  last_op_ += 2;
  const bool is_word =
      region.kind == RegionKind::record && size == kRecordWord && from % kRecordWord == 0;
  const std::uint32_t atom_bytes = is_word ? kRecordWord : knobs_.dma_atom_bytes;
  for (std::size_t at = 0; at < size;) {
    const std::size_t to_border = atom_bytes - (from + at) % atom_bytes;
    const auto piece = static_cast<std::uint32_t>(std::min(to_border, size - at));
    atoms_.push_back({last_op_, from + at, to + at, piece, Step::load, is_word});
    at += piece;
  }
  return last_op_;
}

// The WQEBB behind offset `end`, which nobody has announced yet.
void SimDma::prefetch(const Region& region, std::uint64_t end) {
  const std::uint64_t begin = end == region.end ? region.begin : end;
  const std::uint64_t bytes = std::min<std::uint64_t>(format::kWqebbBytes, region.end - begin);
  const std::uint32_t atom_bytes = knobs_.dma_atom_bytes;
  const weak::Address from = space_.model(place_.pe, space_.arena_base + begin);
  for (std::uint64_t at = 0; at < bytes; at += atom_bytes) {
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(atom_bytes, bytes - at));
    atoms_.push_back({0, from + at, nullptr, piece, Step::load, false});
  }
}

void SimDma::begin_flush(std::uint64_t op) {
  if (relaxed_ == ordered_) return;
  Flush& flush = flushes_.emplace_back();
  flush.op = op;
  flush.writes = other_writes_;
  memory_.arrive(relaxed_, flush.known);
}

void SimDma::end_flush(std::uint64_t op) {
  const auto found = std::find_if(flushes_.begin(), flushes_.end(),
                                  [op](const Flush& flush) { return flush.op == op; });
  if (found == flushes_.end()) return;
  memory_.leave(ordered_, found->known, "flush: the NIC's earlier writes are in memory");
  clean(found->writes);
  flushes_.erase(found);
}

softnic::DmaOp SimDma::fence() {
  const bool waits =
      std::any_of(atoms_.begin(), atoms_.end(), [](const Atom& atom) { return atom.op != 0; });
  if (!waits) return {};
  return {last_op_ | 1};
}

bool SimDma::done(softnic::DmaOp op) {
  const bool is_fence = (op.id & 1) != 0;
  return std::none_of(atoms_.begin(), atoms_.end(), [&](const Atom& atom) {
    return atom.op != 0 && (is_fence ? atom.op < op.id : atom.op == op.id);
  });
}

// The next atom is any load, or the first atom alone if reads keep their order; or the first part
// of an atomic: atomics keep their order among themselves, for they are atomic for this NIC.
void SimDma::advance() {
  GDAKIT_ASSERT(pending());
  const bool any = knobs_.read_order == ReadOrder::any;
  const auto all = static_cast<std::uint32_t>(atoms_.size());
  if (modifies_.empty()) return perform(any ? chooser_.choose(Choice::delivery, all) : 0);
  const auto modify = std::find_if(atoms_.begin(), atoms_.end(), is_of_atomic);
  const auto first_modify = static_cast<std::uint32_t>(modify - atoms_.begin());
  const auto may_perform = [&](std::uint32_t index) {
    return is_of_atomic(atoms_[index]) ? index == first_modify : any || index == 0;
  };
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < all; ++i) count += may_perform(i) ? 1 : 0;
  std::uint32_t picked = chooser_.choose(Choice::delivery, count);
  std::uint32_t index = 0;
  while (!may_perform(index) || picked-- != 0) ++index;
  perform(index);
}

void SimDma::perform(std::size_t index) {
  const Atom atom = atoms_[index];
  if (atom.step == Step::load) {
    load(atom);
  } else {
    modify(atom);
  }
  if (atom.step == Step::modify_load) {
    atoms_[index].step = Step::modify_store;
    return;
  }
  atoms_.erase(atoms_.begin() + static_cast<std::ptrdiff_t>(index));
  complete(atom.op);
}

void SimDma::load(const Atom& atom) {
  weak::Access access;
  access.sem = atom.acquire ? weak::Sem::acquire : weak::Sem::relaxed;
  access.speculative = atom.to == nullptr;
  for (std::uint32_t at = 0; at < atom.size;) {
    const weak::Address from = atom.at + at;
    const std::uint32_t size = access_size(from, atom.size - at);
    memory_.set_fresh(ordered_, newest_ || is_dirty(from));
    const std::uint64_t value = memory_.load(ordered_, from, size, access);
    memory_.set_fresh(ordered_, false);
    if (atom.to != nullptr) std::memcpy(atom.to + at, &value, size);
    at += size;
  }
}

void SimDma::complete(std::uint64_t op) {
  if (op == 0 || !done({op})) return;
  ++completions_;
  end_flush(op);
}

void SimDma::finish() {
  const bool newest = std::exchange(newest_, true);
  while (pending()) perform(0);
  newest_ = newest;
}

void SimDma::abandon() {
  atoms_.clear();
  modifies_.clear();
  flushes_.clear();
}

NextStep SimDma::next() const {
  const bool certain =
      atoms_.size() == 1 && atoms_.front().step == Step::load && atoms_.front().size <= 8;
  if (!certain) return {};
  return {NextStep::Kind::load, atoms_.front().at / 8};
}

}  // namespace gdakit::sim

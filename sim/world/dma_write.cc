// Writes: paths, CQEs, atomics.
#include <algorithm>
#include <cstring>

#include "core/base/assert.h"
#include "sim/world/dma_port.h"

namespace gdakit::sim {
namespace {

constexpr std::uint64_t kGranule = 8;

// The boundary of an addition travels as compare_mask, which only a compare-and-swap uses
// otherwise.
bool apply_add(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = softnic::add_fields(old, update.operand, update.compare_mask);
  return true;
}

bool apply_swap(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  const bool equal = ((old ^ update.compare) & update.compare_mask) == 0;
  *fresh = equal ? (old & ~update.mask) | (update.operand & update.mask) : old;
  return equal;
}

weak::Update update_of(const softnic::AtomicRequest& request) {
  weak::Update update;
  const bool is_add = request.kind == softnic::AtomicKind::fetch_add;
  update.apply = is_add ? apply_add : apply_swap;
  update.operand = request.swap_add;
  update.compare = request.compare;
  update.mask = request.swap_mask;
  update.compare_mask = is_add ? request.boundary : request.compare_mask;
  return update;
}

}  // namespace

// What packets bring, where it is placed as it comes.
SimDma::Path SimDma::path_of_payload(const Region& region) const {
  const Path path = path_of(region, /*is_atomic=*/false);
  return path == Path::ordered && !placers_.empty() ? Path::placed : path;
}

SimDma::Path SimDma::path_of(const Region& region, bool is_atomic) const {
  // What the GPU itself does not keep in order, no attribute of the NIC can.
  if (knobs_.inbound_order == InboundOrder::none && region.owner == Owner::gpu) {
    return Path::relaxed;
  }
  if (region.inbound == Inbound::in_order) return Path::ordered;
  if (region.inbound == Inbound::relaxed) return Path::relaxed;
  if (is_atomic || region.kind == RegionKind::signal) {
    switch (knobs_.signal_path) {
      case SignalPath::same: break;
      case SignalPath::relaxed: return Path::relaxed;
      case SignalPath::split: return Path::split;
    }
    return Path::ordered;
  }
  const bool in_order = knobs_.payload_write_order == PayloadOrder::in_order;
  return in_order ? Path::ordered : Path::relaxed;
}

weak::AgentId SimDma::agent_of(Path path) const {
  switch (path) {
    case Path::ordered: return ordered_;
    case Path::relaxed: return relaxed_;
    case Path::split: return split_;
    case Path::placed: return placers_[placer_];
  }
  return ordered_;
}

weak::Access SimDma::write_access(const Region& region, Path path) const {
  weak::Access access;
  const bool tells = path == Path::ordered || path == Path::placed;
  access.sem = tells ? weak::Sem::release : weak::Sem::relaxed;
  const bool owner_only = knobs_.inbound_order == InboundOrder::owner && region.owner == Owner::gpu;
  if (owner_only) access.reach_gpu = place_.owner_gpu;
  return access;
}

// Before a write: a write on another path comes after what the NIC knows; an ordered one waits for
// those with relaxed ordering.
void SimDma::prepare(Path path, weak::Address to, std::size_t size) {
  if (path == Path::ordered) {
    const bool waits = relaxed_ != ordered_ && knobs_.inbound_order != InboundOrder::none;
    const bool open = std::any_of(dirty_.begin(), dirty_.end(),
                                  [](const Dirty& dirty) { return dirty.path == Path::relaxed; });
    if (!waits || !open) return;
    memory_.join(ordered_, relaxed_);
    clean(other_writes_);
    return;
  }
  memory_.join(agent_of(path), ordered_);
  for (std::uint64_t granule = to / kGranule; granule * kGranule < to + size; ++granule) {
    const auto found = std::find_if(dirty_.begin(), dirty_.end(), [granule](const Dirty& dirty) {
      return dirty.granule == granule;
    });
    const Dirty fresh{granule, ++other_writes_, path};
    if (found == dirty_.end()) {
      dirty_.push_back(fresh);
    } else {
      *found = fresh;
    }
  }
}

void SimDma::store_bytes(weak::AgentId agent, weak::Address to, const std::uint8_t* from,
                         std::size_t size, const weak::Access& access) {
  for (std::size_t at = 0; at < size;) {
    const std::uint32_t piece = access_size(to + at, size - at);
    std::uint64_t value = 0;
    std::memcpy(&value, from + at, piece);
    memory_.store(agent, to + at, piece, value, access);
    at += piece;
  }
}

softnic::DmaOp SimDma::write(softnic::DmaAddress to, const void* from, std::size_t size) {
  if (size == 0) return {};
  const Region* const region = region_at(to, size, "writes");
  if (region == nullptr) return {};
  const Path path = path_of_payload(*region);
  const auto* const bytes = static_cast<const std::uint8_t*>(from);
  const weak::Address at = space_.model(place_.pe, to.value);
  const weak::Access access = write_access(*region, path);
  if (path == Path::placed) {
    place(at, bytes, size, access);
    return {};
  }
  finish_atomics();
  prepare(path, at, size);
  store_bytes(agent_of(path), at, bytes, size, access);
  return {};
}

void SimDma::place(weak::Address to, const std::uint8_t* from, std::size_t size,
                   const weak::Access& access) {
  placer_ = (placer_ + 1) % placers_.size();
  const weak::AgentId agent = agent_of(Path::placed);
  const bool is_known = sender_knew_ != nullptr && !sender_knew_->clock.empty();
  if (is_known) memory_.leave(agent, *sender_knew_);
  if (relaxed_ != ordered_) memory_.join(agent, relaxed_);  // on the bus it waits for these
  store_bytes(agent, to, from, size, access);
  memory_.join(ordered_, agent);
}

// Only wires that carry payload by reference ask for copies; the simulated one does not.
softnic::DmaOp SimDma::copy(softnic::DmaAddress to, softnic::DmaAddress from, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  read(bytes.data(), from, size);
  finish();
  return write(to, bytes.data(), size);
}

softnic::DmaOp SimDma::write_cqe(softnic::DmaAddress to, const format::Cqe64& cqe) {
  const Region* const region = region_at(to, sizeof cqe, "writes");
  if (region == nullptr) return {};
  finish_atomics();
  prepare(Path::ordered, 0, 0);
  std::uint8_t bytes[sizeof cqe];
  std::memcpy(bytes, &cqe, sizeof cqe);
  const weak::Address at = space_.model(place_.pe, to.value);
  const weak::Access last = write_access(*region, Path::ordered);
  weak::Access rest = last;
  rest.sem = weak::Sem::relaxed;
  if (knobs_.cqe_bytes == CqeBytes::any) {
    // Each part carries what was written before the CQE, none tells of the others.
    memory_.fence(ordered_, weak::Sem::release, Scope::system);
    store_bytes(ordered_, at, bytes, sizeof bytes, rest);
    return {};
  }
  constexpr std::size_t kTail = format::kCqeTailOffset;
  store_bytes(ordered_, at, bytes, kTail, rest);
  store_bytes(ordered_, at + kTail, bytes + kTail, sizeof bytes - kTail, last);
  return {};
}

// Whether threads, or another NIC, may come between an atomic's read and its write there.
bool SimDma::is_split(const Region& region) const {
  if (!place_.alone) return true;
  const YesNo native =
      region.owner == Owner::host ? knobs_.host_native_atomics : knobs_.device_native_atomics;
  return native == YesNo::no;
}

softnic::DmaOp SimDma::atomic(softnic::DmaAddress at, const softnic::AtomicRequest& request,
                              std::uint64_t* old) {
  *old = 0;
  const Region* const region = region_at(at, request.size, "atomically changes");
  if (region == nullptr) return {};
  const weak::Address address = space_.model(place_.pe, at.value);
  if (is_split(*region)) {
    last_op_ += 2;
    modifies_.push_back({last_op_, request, old, region});
    atoms_.push_back({last_op_, address, nullptr, request.size, Step::modify_load, false});
    return {last_op_};
  }
  finish_atomics();
  const Path path = path_of(*region, /*is_atomic=*/true);
  prepare(path, address, request.size);
  *old = memory_.rmw(agent_of(path), address, request.size, update_of(request),
                     write_access(*region, path));
  return {};
}

// One half of an atomic that is one for this NIC alone.
void SimDma::modify(const Atom& atom) {
  const auto found = std::find_if(modifies_.begin(), modifies_.end(),
                                  [&](const Modify& modify) { return modify.op == atom.op; });
  GDAKIT_ASSERT(found != modifies_.end());
  const Path path = path_of(*found->region, /*is_atomic=*/true);
  const weak::AgentId agent = agent_of(path);
  if (atom.step == Step::modify_load) {
    if (agent != ordered_) memory_.join(agent, ordered_);
    weak::Access access;
    access.sem = weak::Sem::relaxed;
    *found->old = memory_.load(agent, atom.at, atom.size, access);
    return;
  }
  const Modify modify = *found;
  modifies_.erase(found);
  const std::uint64_t result = softnic::atomic_result(modify.request, *modify.old);
  prepare(path, atom.at, atom.size);
  memory_.store(agent, atom.at, atom.size, result, write_access(*modify.region, path));
}

// Writes keep their order: atomics that are under way come before what is written now.
void SimDma::finish_atomics() {
  while (true) {
    const auto found = std::find_if(atoms_.begin(), atoms_.end(), is_of_atomic);
    if (found == atoms_.end()) return;
    perform(static_cast<std::size_t>(found - atoms_.begin()));
  }
}

bool SimDma::is_dirty(weak::Address at) const {
  return std::any_of(dirty_.begin(), dirty_.end(),
                     [at](const Dirty& dirty) { return dirty.granule == at / kGranule; });
}

// The ordered path covers what the relaxed one wrote, up to the write of that number.
void SimDma::clean(std::uint64_t until) {
  const auto gone = std::remove_if(dirty_.begin(), dirty_.end(), [until](const Dirty& dirty) {
    return dirty.path == Path::relaxed && dirty.number <= until;
  });
  dirty_.erase(gone, dirty_.end());
}

}  // namespace gdakit::sim

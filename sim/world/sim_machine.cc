#include "sim/world/sim_machine.h"

#include <algorithm>

namespace gdakit::sim {
namespace {

std::uint64_t number(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

// The largest naturally aligned access at both places that `left` bytes have room for.
std::uint32_t piece(std::uint64_t a, std::uint64_t b, std::size_t left) {
  std::uint32_t size = 8;
  while (size > left || a % size != 0 || b % size != 0) size /= 2;
  return size;
}

// A DUMP's control segment as that of a NOP.
format::Segment without_dump(const format::Segment& segment) {
  auto control = bit_cast<format::ControlSegment>(segment);
  if (control.opcode() != static_cast<std::uint8_t>(format::Opcode::dump)) return segment;
  control.opmod_idx_opcode =
      Be32{(control.opmod_idx_opcode & ~0xffu) | static_cast<std::uint32_t>(format::Opcode::nop)};
  control.qpn_ds = Be32{(control.qpn_ds & ~0xffu) | 1u};
  return format::to_segment(control);
}

}  // namespace

bool SimMachine::is_shared(const void* at, std::size_t bytes) {
  if (!around_->space.reaches(number(at), bytes)) return false;
  const std::uint64_t offset = around_->space.offset(number(at));
  if (bytes <= 8 && offset % bytes != 0) {
    around_->memory.find(FindingKind::stray, "an access of " + std::to_string(bytes) +
                                                 " bytes at " + around_->layout.name(offset) +
                                                 ", which is not aligned to that size");
    return true;
  }
  const Region* const region = around_->layout.find(offset);
  if (region == nullptr || offset + bytes > region->end) {
    around_->memory.find(FindingKind::stray, "an access of " + std::to_string(bytes) +
                                                 " bytes at " + around_->layout.name(offset) +
                                                 ", where there is no object");
    return true;
  }
  if (region->kind == RegionKind::doorbell) {
    around_->memory.find(FindingKind::mmio,
                         "a doorbell register was touched by an access for ordinary memory, which "
                         "may be merged, repeated or cached; use store_mmio");
  }
  return true;
}

weak::Address SimMachine::address(const void* at) const {
  return around_->space.model(thread_->pe, number(at));
}

void SimMachine::enter_call(const char* name, CallPlace at) {
  thread_->call = name;
  thread_->call_site = at;
}

void SimMachine::leave_call() {
  thread_->call = nullptr;
  around_->memory.end_call(thread_->agent);
}

void SimMachine::note_call(std::string what, std::string where) {
  Event event{.what = std::move(what), .where = std::move(where)};
  event.file = thread_->call_site.file;
  event.line = thread_->call_site.line;
  around_->memory.begin_call(thread_->agent, std::move(event));
}

std::string SimMachine::place_on(std::uint32_t pe, const void* at) const {
  if (pe >= around_->space.pes || !around_->space.reaches(number(at), 1)) return "";
  const std::uint64_t offset = around_->space.offset(number(at));
  return "PE " + std::to_string(pe) + " " + around_->layout.name(offset);
}

void SimMachine::before(weak::Address at, NextStep::Kind kind, const weak::Site* site) {
  if (site != nullptr) thread_->last_site = {site->file, site->line};
  around_->execution.before(*thread_, {kind, at / 8});
}

std::uint64_t SimMachine::load_raw(const void* from, std::uint32_t size, const OrderSite& site) {
  if (!is_shared(from, size)) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, size);
    return value;
  }
  const weak::Address at = address(from);
  if (const auto own = forwarded(at, size)) return *own;
  before(at, NextStep::Kind::load, &site.where);
  const Effect& effect = site.effect;
  return around_->memory.load(thread_->agent, at, size, {effect.sem, effect.scope, &site.where});
}

void SimMachine::store_raw(void* to, std::uint32_t size, std::uint64_t value,
                           const OrderSite& site) {
  if (!is_shared(to, size)) {
    std::memcpy(to, &value, size);
    return;
  }
  const weak::Address at = address(to);
  const Effect& effect = site.effect;
  const weak::Access access{effect.sem, effect.scope, &site.where};
  meet_delayed(at, size);
  if (effect.delay) return delay({at, size, value, access});
  before(at, NextStep::Kind::store, &site.where);
  around_->memory.store(thread_->agent, at, size, value, access);
  perform_delayed();
}

std::uint64_t SimMachine::rmw_raw(void* word, std::uint32_t size, const weak::Update& update,
                                  const OrderSite& site) {
  if (!is_shared(word, size)) {
    std::uint64_t old = 0;
    std::memcpy(&old, word, size);
    std::uint64_t fresh = old;
    if (update.apply(update, old, &fresh)) std::memcpy(word, &fresh, size);
    return old;
  }
  const weak::Address at = address(word);
  const Effect& effect = site.effect;
  meet_delayed(at, size);
  before(at, NextStep::Kind::store, &site.where);
  const std::uint64_t old = around_->memory.rmw(thread_->agent, at, size, update,
                                                {effect.sem, effect.scope, &site.where});
  perform_delayed();
  return old;
}

// Others see no step of a fence but that of a fence.sc, which stands in one order with those of
// other threads: between it and the access before it another one's may come.
void SimMachine::fence_at(const OrderSite& site) {
  if (site.effect.skip) return;
  if (site.effect.sem == weak::Sem::sc) before(0, NextStep::Kind::sc, &site.where);
  around_->memory.fence(thread_->agent, site.effect.sem, site.effect.scope, &site.where);
}

void SimMachine::store_weak(format::Segment* to, const format::Segment& segment, const char* file,
                            std::uint32_t line) {
  const OrderSite& site = plain_site(SiteOp::plain_store, file, line);
  const format::Segment stored = site.effect.no_flush ? without_dump(segment) : segment;
  std::uint64_t words[2];
  static_assert(sizeof(words) == sizeof(stored));
  std::memcpy(words, &stored, sizeof(words));
  auto* const at = reinterpret_cast<std::uint64_t*>(to);
  store_raw(at, 8, words[0], site);
  store_raw(at + 1, 8, words[1], site);
}

void SimMachine::store_mmio(std::uint64_t* to, std::uint64_t value, const char* file,
                            std::uint32_t line) {
  const OrderSite& site = plain_site(SiteOp::mmio, file, line);
  if (site.effect.ordinary) return store_raw(to, sizeof(value), value, site);
  const AddressSpace& space = around_->space;
  const std::uint64_t offset = space.offset(number(to));
  const Region* const region =
      space.contains(number(to), sizeof(value)) ? around_->layout.find(offset) : nullptr;
  if (region == nullptr || region->kind != RegionKind::doorbell) {
    around_->memory.find(FindingKind::mmio, "store_mmio to something that is no doorbell register");
    return;
  }
  before(address(to), NextStep::Kind::unknown);
  around_->doorbells.store(thread_->pe, thread_->agent, offset, value, &site.where);
  perform_delayed();
}

void SimMachine::copy(void* to, const void* from, std::size_t bytes, const char* file,
                      std::uint32_t line) {
  copy_by(to, from, bytes, plain_site(SiteOp::plain_load, file, line),
          plain_site(SiteOp::plain_store, file, line));
}

void SimMachine::copy_in(void* to, const void* from, std::size_t bytes, const char* file,
                         std::uint32_t line) {
  copy_by(to, from, bytes, site<order::RelaxedSystem>(SiteOp::load, file, line),
          plain_site(SiteOp::plain_store, file, line));
}

void SimMachine::copy_by(void* to, const void* from, std::size_t bytes, const OrderSite& load_site,
                         const OrderSite& store_site) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const std::uint32_t size = piece(number(target), number(source), bytes);
    store_raw(target, size, load_raw(source, size, load_site), store_site);
    target += size;
    source += size;
    bytes -= size;
  }
}

void SimMachine::sync_warp(LaneMask mask, const char* file, std::uint32_t line) {
  if (mask == thread_->lane_bit()) return;
  const OrderSite& site = plain_site(SiteOp::sync_warp, file, line);
  if (site.effect.skip) return;
  thread_->last_site = {file, line};
  perform_delayed();
  MeetingPoint& point = thread_->home->point_of(thread_->warp_index(), mask);
  weak::BarrierClock& clock = point.next(thread_->lane());
  around_->execution.before(*thread_, {NextStep::Kind::sync, thread_->warp_index()});
  around_->memory.arrive(thread_->agent, clock);
  thread_->warp->sync(*thread_, mask);
  around_->memory.leave(thread_->agent, clock, "sync_warp", &site.where);
}

void SimMachine::sync_block(const char* file, std::uint32_t line) {
  const OrderSite& site = plain_site(SiteOp::sync_block, file, line);
  thread_->last_site = {file, line};
  if (!site.effect.skip) meet_block();
}

bool SimMachine::meet_block(bool predicate) {
  perform_delayed();
  weak::BarrierClock& clock = thread_->home->all.next(thread_->thread_index);
  around_->execution.before(*thread_, {NextStep::Kind::sync, ~std::uint64_t{0}});
  around_->memory.arrive(thread_->agent, clock);
  const bool any = thread_->block->sync(*thread_, predicate);
  around_->memory.leave(thread_->agent, clock, "sync_block");
  return any;
}

std::uint64_t SimMachine::broadcast_block(std::uint64_t value) {
  if (thread_index() == 0) thread_->block->set_shared_word(value);
  meet_block();
  const std::uint64_t given = thread_->block->shared_word();
  meet_block();
  return given;
}

void SimMachine::spin(Site where, const char* file, std::uint32_t line) {
  perform_delayed();
  thread_->last_site = {file, line};
  around_->execution.spin(*thread_, where, {"", file, line});
}

void SimMachine::delay(const DelayedStore& store) {
  perform_delayed();
  thread_->delayed = store;
}

void SimMachine::perform_delayed() {
  if (!thread_->delayed.has_value()) return;
  const DelayedStore store = *thread_->delayed;
  thread_->delayed.reset();
  before(store.to, NextStep::Kind::store);
  around_->memory.store(thread_->agent, store.to, store.size, store.value, store.access);
}

// The thread's own accesses come after a store of its own that is delayed.
void SimMachine::meet_delayed(weak::Address at, std::uint32_t size) {
  if (thread_->delayed.has_value() && thread_->delayed->meets(at, size)) perform_delayed();
}

// What a load finds of it, while others do not see it.
std::optional<std::uint64_t> SimMachine::forwarded(weak::Address at, std::uint32_t size) {
  const std::optional<DelayedStore>& own = thread_->delayed;
  if (own.has_value() && own->covers(at, size)) return own->at(at, size);
  meet_delayed(at, size);
  return std::nullopt;
}

bool SimMachine::add(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = old + update.operand;
  return true;
}
bool SimMachine::bit_or(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = old | update.operand;
  return true;
}
bool SimMachine::bit_and(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = old & update.operand;
  return true;
}
bool SimMachine::bit_xor(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = old ^ update.operand;
  return true;
}
bool SimMachine::swap(const weak::Update& update, std::uint64_t, std::uint64_t* fresh) {
  *fresh = update.operand;
  return true;
}
bool SimMachine::compare_swap(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = update.operand;
  return old == update.compare;
}

}  // namespace gdakit::sim

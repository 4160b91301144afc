// HostMachine: an emulated GPU thread on a CPU core, with the core's own atomics. Models Machine.
//
// Loads, stores and read-modify-writes are the bare atomic instructions; only spin and the group
// operations cost more. Scopes make no difference here: the host's memory is coherent for
// everybody. What a fence or its scope is for, the weak-memory simulator checks.
//
// In a ThreadSanitizer build every access is at least acquire or release, because ThreadSanitizer
// does not understand fences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/annotate.h"
#include "core/base/register_store.h"
#include "core/base/type_identity.h"
#include "core/format/wqe.h"
#include "device/machine.h"
#include "device/order.h"
#include "sim/block.h"
#include "sim/host_atomics.h"
#include "sim/scheduler.h"
#include "sim/thread.h"
#include "sim/warp.h"

namespace gdakit::sim {

// What lanes can hand to each other: at most 8 bytes.
template <class T, class Returned = T>
using IfLaneValue = std::enable_if_t<std::is_trivially_copyable_v<T> && sizeof(T) <= 8, Returned>;

GDAKIT_EMULATED_BEGIN
class HostMachine {
 public:
  static constexpr bool kLooksWhereWordsLie = true;

  GDAKIT_EMULATED explicit HostMachine(Thread& thread) : thread_(&thread) {}

  GDAKIT_EMULATED std::uint32_t thread_index() const { return thread_->thread_index; }
  GDAKIT_EMULATED std::uint32_t block_index() const { return thread_->block_index; }
  GDAKIT_EMULATED std::uint32_t block_threads() const { return thread_->shape.threads; }
  GDAKIT_EMULATED std::uint32_t grid_blocks() const { return thread_->shape.blocks; }
  GDAKIT_EMULATED std::uint32_t lane() const { return thread_->lane(); }
  GDAKIT_EMULATED std::uint32_t warp() const { return thread_->warp_index(); }

  // The lanes of this warp that exist: all but in the last warp of a block.
  GDAKIT_EMULATED LaneMask warp_mask() const { return thread_->warp->lanes(); }

  template <class Order, class T>
  GDAKIT_EMULATED IfAccessWord<T> load(Order, const T* from) {
    return HostAtomics::load<Order>(from);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfAccessWord<T, void> store(Order, T* to, type_identity_t<T> value) {
    thread_->worked = true;
    HostAtomics::store<Order>(to, value);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfRmwInteger<T> fetch_add(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::fetch_add<Order>(word, value);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfRmwInteger<T> fetch_or(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::fetch_or<Order>(word, value);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfRmwInteger<T> fetch_and(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::fetch_and<Order>(word, value);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfRmwInteger<T> fetch_xor(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::fetch_xor<Order>(word, value);
  }

  // Writes even where the old value is the greater one, so that its order holds in any case.
  template <class Order, class T>
  GDAKIT_EMULATED IfRmwInteger<T> fetch_max(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::fetch_max<Order>(word, value);
  }

  template <class Order, class T>
  GDAKIT_EMULATED IfRmwWord<T> exchange(Order, T* word, type_identity_t<T> value) {
    return HostAtomics::exchange<Order>(word, value);
  }

  // Returns the old value; the exchange took place if its bytes equal those of `expected`.
  template <class Order, class T>
  GDAKIT_EMULATED IfRmwWord<T> compare_exchange(Order, T* word, type_identity_t<T> expected,
                                                type_identity_t<T> desired) {
    return HostAtomics::compare_exchange<Order>(word, expected, desired);
  }

  template <class Order>
  GDAKIT_EMULATED void fence(Order) {
    HostAtomics::fence<Order>();
  }

  // Each half is read by itself: a segment has just been built from smaller words, and a load that
  // is wider than the stores before it waits until these have left the core. The atomic load keeps
  // the compiler from making one load of two.
  GDAKIT_EMULATED void store_weak(format::Segment* to, const format::Segment& segment) {
    thread_->worked = true;
    to->low = HostAtomics::load<order::RelaxedGpu>(&segment.low);
    to->high = HostAtomics::load<order::RelaxedGpu>(&segment.high);
  }

  // Plain accesses to data that something else orders.
  template <class T>
  GDAKIT_EMULATED IfAccessWord<T> load_weak(const T* from) {
    T value;
    copy(&value, from, sizeof(T));
    return value;
  }
  template <class T>
  GDAKIT_EMULATED IfAccessWord<T, void> store_weak(T* to, type_identity_t<T> value) {
    copy(to, &value, sizeof(T));
  }

  // A store to a device orders nothing by itself; fences before it do. Where the doorbell page is
  // ordinary memory, the NIC is a thread that reads it with acquire: release is what pairs with
  // that in the language's terms. On x86 it is the same instruction.
  GDAKIT_EMULATED void store_mmio(std::uint64_t* to, std::uint64_t value) {
    thread_->worked = true;
    store_register(to, value);
  }

  GDAKIT_EMULATED void copy(void* to, const void* from, std::size_t bytes) {
    thread_->worked = true;
    if constexpr (kThreadSanitizer) {
      copy_unknown_size(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  GDAKIT_EMULATED void copy_in(void* to, const void* from, std::size_t bytes) {
    copy(to, from, bytes);
  }

  // Call sites are told apart by file and line.
  GDAKIT_EMULATED LaneMask active_mask(const char* file = __builtin_FILE(),
                                       std::uint32_t line = __builtin_LINE()) {
    if (thread_->warp->live() == thread_->lane_bit()) return thread_->lane_bit();
    return thread_->warp->active_mask(*thread_, {file, line});
  }

  template <class T>
  GDAKIT_EMULATED IfLaneValue<T> shuffle(LaneMask mask, T value, std::uint32_t source) {
    if (mask == thread_->lane_bit() && source == lane()) return value;
    const std::uint64_t raw = thread_->warp->shuffle(*thread_, mask, to_raw(value), source);
    std::memcpy(&value, &raw, sizeof(T));
    return value;
  }

  GDAKIT_EMULATED LaneMask ballot(LaneMask mask, bool predicate) {
    if (mask == thread_->lane_bit()) return predicate ? mask : 0;
    return thread_->warp->ballot(*thread_, mask, predicate);
  }

  // Values are compared by their bytes.
  template <class T>
  GDAKIT_EMULATED IfLaneValue<T, LaneMask> match_any(LaneMask mask, T value) {
    if (mask == thread_->lane_bit()) return mask;
    return thread_->warp->match_any(*thread_, mask, to_raw(value));
  }

  GDAKIT_EMULATED void sync_warp(LaneMask mask) {
    if (mask == thread_->lane_bit()) return;
    thread_->warp->sync(*thread_, mask);
  }

  GDAKIT_EMULATED void sync_block() { thread_->block->sync(*thread_); }

  GDAKIT_EMULATED std::uint64_t broadcast_block(std::uint64_t value) {
    if (thread_index() == 0) thread_->block->set_shared_word(value);
    sync_block();
    const std::uint64_t given = thread_->block->shared_word();
    sync_block();  // before the next broadcast
    return given;
  }
  GDAKIT_EMULATED bool any_block(bool predicate) {
    return thread_->block->sync(*thread_, predicate);
  }

  GDAKIT_EMULATED std::uint64_t clock_ns() { return now_of(*thread_); }

  GDAKIT_EMULATED void spin(Site) { thread_->scheduler->yield(*thread_, Reason::spin); }

 private:
  static std::uint64_t now_of(const Thread& thread);

  // g++ turns a memcpy of known size into moves of which it does not tell ThreadSanitizer.
  static void copy_unknown_size(void* to, const void* from, std::size_t bytes);

  template <class T>
  GDAKIT_EMULATED static std::uint64_t to_raw(const T& value) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }

  Thread* thread_;
};
GDAKIT_EMULATED_END

}  // namespace gdakit::sim

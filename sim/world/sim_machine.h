// SimMachine: a GPU thread of a simulated world. Models Machine (device/machine.h): what the
// protocol does to memory becomes an access of the weak-memory model, before each of which another
// thread or NIC may go on.
//
// Pointers into the world's arena are shared memory, which exists in the model only: reading
// through them without the Machine is an access violation. Everything else (locals, objects of the
// kernel) is the thread's own memory and is touched as it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/type_identity.h"
#include "core/format/wqe.h"
#include "device/machine.h"
#include "device/machine_concept.h"
#include "device/order.h"
#include "sim/host_machine.h"
#include "sim/world/execution.h"
#include "sim/world/orders.h"
#include "sim/world/region.h"
#include "sim/world/sites.h"

namespace gdakit::sim {

// The name of a named order; "" for one that says of no scenario that it breaks.
template <class Order>
constexpr std::string_view order_name() {
  if constexpr (requires { Order::breaks; }) {
    return type_name<Order>();
  } else {
    return "";
  }
}
// Found by the compiler: threads would search the name again at each access.
template <class Order>
inline constexpr std::string_view kOrderName = order_name<Order>();
template <class Order>
inline constexpr char kOrderTag = 0;

// Where stores to doorbell registers go.
class DoorbellSink {
 public:
  virtual ~DoorbellSink() = default;
  // `offset`: of the register in its PE's memory.
  virtual void store(std::uint32_t pe, weak::AgentId agent, std::uint64_t offset,
                     std::uint64_t value, const weak::Site* site) = 0;
};

// What all threads of an execution act on.
struct SimSurroundings {
  weak::Memory& memory;
  Execution& execution;
  SiteTable& sites;
  const AddressSpace& space;
  const Layout& layout;
  DoorbellSink& doorbells;
};

class SimMachine {
 public:
  SimMachine(SimThread& thread, SimSurroundings& around) : thread_(&thread), around_(&around) {}

  std::uint32_t thread_index() const { return thread_->thread_index; }
  std::uint32_t block_index() const { return thread_->block_index; }
  std::uint32_t block_threads() const { return thread_->shape.threads; }
  std::uint32_t grid_blocks() const { return thread_->shape.blocks; }
  std::uint32_t lane() const { return thread_->lane(); }
  std::uint32_t warp() const { return thread_->warp_index(); }
  LaneMask warp_mask() const { return thread_->warp->lanes(); }

  template <class Order, class T>
  IfAccessWord<T> load(Order, const T* from, const char* file = __builtin_FILE(),
                       std::uint32_t line = __builtin_LINE()) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::acquire);
    return from_raw<T>(load_raw(from, sizeof(T), site<Order>(SiteOp::load, file, line)));
  }

  template <class Order, class T>
  IfAccessWord<T, void> store(Order, T* to, type_identity_t<T> value,
                              const char* file = __builtin_FILE(),
                              std::uint32_t line = __builtin_LINE()) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::release);
    store_raw(to, sizeof(T), to_raw(value), site<Order>(SiteOp::store, file, line));
  }

  template <class Order, class T>
  IfRmwInteger<T> fetch_add(Order, T* word, type_identity_t<T> value,
                            const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = add, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwInteger<T> fetch_or(Order, T* word, type_identity_t<T> value,
                           const char* file = __builtin_FILE(),
                           std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = bit_or, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwInteger<T> fetch_and(Order, T* word, type_identity_t<T> value,
                            const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = bit_and, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwInteger<T> fetch_xor(Order, T* word, type_identity_t<T> value,
                            const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = bit_xor, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwInteger<T> fetch_max(Order, T* word, type_identity_t<T> value,
                            const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = max_of<T>, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwWord<T> exchange(Order, T* word, type_identity_t<T> value,
                        const char* file = __builtin_FILE(),
                        std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(word, {.apply = swap, .operand = to_raw(value)}, file, line);
  }
  template <class Order, class T>
  IfRmwWord<T> compare_exchange(Order, T* word, type_identity_t<T> expected,
                                type_identity_t<T> desired, const char* file = __builtin_FILE(),
                                std::uint32_t line = __builtin_LINE()) {
    return rmw<Order>(
        word, {.apply = compare_swap, .operand = to_raw(desired), .compare = to_raw(expected)},
        file, line);
  }

  template <class Order>
  void fence(Order, const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    fence_at(site<Order>(SiteOp::fence, file, line));
  }

  template <class T>
  IfAccessWord<T> load_weak(const T* from, const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return from_raw<T>(load_raw(from, sizeof(T), plain_site(SiteOp::plain_load, file, line)));
  }
  template <class T>
  IfAccessWord<T, void> store_weak(T* to, type_identity_t<T> value,
                                   const char* file = __builtin_FILE(),
                                   std::uint32_t line = __builtin_LINE()) {
    store_raw(to, sizeof(T), to_raw(value), plain_site(SiteOp::plain_store, file, line));
  }
  void store_weak(format::Segment* to, const format::Segment& segment,
                  const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE());
  void store_mmio(std::uint64_t* to, std::uint64_t value, const char* file = __builtin_FILE(),
                  std::uint32_t line = __builtin_LINE());
  void copy(void* to, const void* from, std::size_t bytes, const char* file = __builtin_FILE(),
            std::uint32_t line = __builtin_LINE());
  void copy_in(void* to, const void* from, std::size_t bytes, const char* file = __builtin_FILE(),
               std::uint32_t line = __builtin_LINE());

  LaneMask active_mask(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    if (thread_->warp->live() == thread_->lane_bit()) return thread_->lane_bit();
    return thread_->warp->active_mask(*thread_, {file, line});
  }
  template <class T>
  IfLaneValue<T> shuffle(LaneMask mask, T value, std::uint32_t source) {
    if (mask == thread_->lane_bit() && source == lane()) return value;
    return from_raw<T>(thread_->warp->shuffle(*thread_, mask, to_raw(value), source));
  }
  LaneMask ballot(LaneMask mask, bool predicate) {
    if (mask == thread_->lane_bit()) return predicate ? mask : 0;
    return thread_->warp->ballot(*thread_, mask, predicate);
  }
  template <class T>
  IfLaneValue<T, LaneMask> match_any(LaneMask mask, T value) {
    if (mask == thread_->lane_bit()) return mask;
    return thread_->warp->match_any(*thread_, mask, to_raw(value));
  }
  void sync_warp(LaneMask mask, const char* file = __builtin_FILE(),
                 std::uint32_t line = __builtin_LINE());
  void sync_block(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE());
  std::uint64_t broadcast_block(std::uint64_t value);
  bool any_block(bool predicate, const char* file = __builtin_FILE(),
                 std::uint32_t line = __builtin_LINE()) {
    return plain_site(SiteOp::sync_block, file, line).effect.skip ? predicate
                                                                  : meet_block(predicate);
  }

  // The thread leaves its kernel.
  void finish() { perform_delayed(); }

  // For CallScope: the kernel enters a call of gdakit's; what is it, in words, for a trace?
  const char* call() const { return thread_->call; }
  void enter_call(const char* name, CallPlace at);
  void leave_call();
  bool tracing() const { return around_->memory.tracing(); }
  void note_call(std::string what, std::string where);
  // What lies at a symmetric address on a PE; "" for what is none.
  std::string place_on(std::uint32_t pe, const void* at) const;
  std::string place_here(const void* at) const { return place_on(thread_->pe, at); }

  std::uint64_t clock_ns() { return around_->execution.now_ns(); }
  void spin(Site where, const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE());

 private:
  template <class Order>
  const OrderSite& site(SiteOp op, const char* file, std::uint32_t line) {
    return around_->sites.at(
        {kOrderName<Order>, file, line, op, Order::kind, Order::scope, &kOrderTag<Order>});
  }
  const OrderSite& plain_site(SiteOp op, const char* file, std::uint32_t line) {
    return around_->sites.at({"", file, line, op, Kind::relaxed, Scope::system, nullptr});
  }

  template <class Order, class T>
  T rmw(T* word, const weak::Update& update, const char* file, std::uint32_t line) {
    return from_raw<T>(rmw_raw(word, sizeof(T), update, site<Order>(SiteOp::rmw, file, line)));
  }

  std::uint64_t load_raw(const void* from, std::uint32_t size, const OrderSite& site);
  void store_raw(void* to, std::uint32_t size, std::uint64_t value, const OrderSite& site);
  std::uint64_t rmw_raw(void* word, std::uint32_t size, const weak::Update& update,
                        const OrderSite& site);
  void fence_at(const OrderSite& site);
  void copy_by(void* to, const void* from, std::size_t bytes, const OrderSite& load_site,
               const OrderSite& store_site);
  bool meet_block(bool predicate = false);

  bool is_shared(const void* at, std::size_t bytes);
  weak::Address address(const void* at) const;
  void before(weak::Address at, NextStep::Kind kind, const weak::Site* site = nullptr);
  void delay(const DelayedStore& store);
  void perform_delayed();
  void meet_delayed(weak::Address at, std::uint32_t size);
  std::optional<std::uint64_t> forwarded(weak::Address at, std::uint32_t size);

  static bool add(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  static bool bit_or(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  static bool bit_and(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  static bool bit_xor(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  static bool swap(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  static bool compare_swap(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh);
  // Compares as T does, by its sign.
  template <class T>
  static bool max_of(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
    const T a = from_raw<T>(old);
    const T b = from_raw<T>(update.operand);
    *fresh = to_raw(a < b ? b : a);
    return true;
  }

  template <class T>
  static std::uint64_t to_raw(const T& value) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }
  template <class T>
  static T from_raw(std::uint64_t raw) {
    T value;
    std::memcpy(static_cast<void*>(&value), &raw, sizeof(T));
    return value;
  }

  SimThread* thread_;
  SimSurroundings* around_;
};

static_assert(MachineFor<SimMachine, order::RelaxedSystem>);

}  // namespace gdakit::sim

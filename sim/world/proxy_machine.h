// SimProxyMachine: the processor of a simulated host thread, as far as device/proxied_queue.h needs
// one. Like SimMachine it turns what the code does to memory into accesses of the weak-memory
// model, at sites that mutants weaken; unlike a GPU's thread it is not interrupted between them,
// because an actor's turn is one piece (actor.h).
#pragma once

#include <optional>

#include "core/base/type_identity.h"
#include "sim/world/sim_machine.h"

namespace gdakit::sim {

class SimProxyMachine {
 public:
  SimProxyMachine(SimSurroundings& around, std::uint32_t pe, weak::AgentId agent)
      : around_(&around), pe_(pe), agent_(agent) {}

  template <class Order, class T>
  IfAccessWord<T> load(Order, const T* from, const char* file = __builtin_FILE(),
                       std::uint32_t line = __builtin_LINE()) {
    return static_cast<T>(load_raw(from, sizeof(T), site<Order>(SiteOp::load, file, line)));
  }
  template <class Order, class T>
  IfAccessWord<T, void> store(Order, T* to, type_identity_t<T> value,
                              const char* file = __builtin_FILE(),
                              std::uint32_t line = __builtin_LINE()) {
    store_raw(to, sizeof(T), value, site<Order>(SiteOp::store, file, line));
  }
  template <class Order>
  void fence(Order, const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    const Effect& effect = site<Order>(SiteOp::fence, file, line).effect;
    if (!effect.skip) around_->memory.fence(agent_, effect.sem, effect.scope);
  }
  template <class T>
  IfAccessWord<T> load_weak(const T* from, const char* file = __builtin_FILE(),
                            std::uint32_t line = __builtin_LINE()) {
    return static_cast<T>(load_raw(from, sizeof(T), plain(SiteOp::plain_load, file, line)));
  }
  template <class T>
  IfAccessWord<T, void> store_weak(T* to, type_identity_t<T> value,
                                   const char* file = __builtin_FILE(),
                                   std::uint32_t line = __builtin_LINE()) {
    store_raw(to, sizeof(T), value, plain(SiteOp::plain_store, file, line));
  }
  void store_weak(format::Segment* to, const format::Segment& segment,
                  const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE());
  void store_mmio(std::uint64_t* to, std::uint64_t value, const char* file = __builtin_FILE(),
                  std::uint32_t line = __builtin_LINE());

  // The thread's turn ends: what it has put off is done.
  void finish() { perform_delayed(); }

 private:
  template <class Order>
  const OrderSite& site(SiteOp op, const char* file, std::uint32_t line) {
    return around_->sites.at(
        {order_name<Order>(), file, line, op, Order::kind, Order::scope, &kOrderTag<Order>});
  }
  const OrderSite& plain(SiteOp op, const char* file, std::uint32_t line) {
    return around_->sites.at({"", file, line, op, Kind::relaxed, Scope::system, nullptr});
  }
  std::uint64_t load_raw(const void* from, std::uint32_t size, const OrderSite& site);
  void store_raw(void* to, std::uint32_t size, std::uint64_t value, const OrderSite& site);
  void perform_delayed();
  weak::Address address(const void* at) const {
    return around_->space.model(pe_, reinterpret_cast<std::uint64_t>(at));
  }

  SimSurroundings* around_;
  std::uint32_t pe_;
  weak::AgentId agent_;
  std::optional<DelayedStore> delayed_;
};

}  // namespace gdakit::sim

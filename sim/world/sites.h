// Sites: where in the source the protocol orders something, by name, file and line; and what a
// mutation makes of one of them.
//
//   device/ring.h:18   fence    WqeBeforeDoorbellRecord   release, nic
//   device/ring.h:19   store    (relaxed, nic)
//
// A site is found when a thread first comes past it. Mutating one means: at this place, and nowhere
// else, do something weaker. The code itself stays as it is.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/machine.h"
#include "sim/weak/accesses.h"

namespace gdakit::sim {

enum class SiteOp : std::uint8_t {
  load,
  store,
  rmw,
  fence,
  mmio,         // store_mmio
  plain_load,   // load_weak, and the source of a copy
  plain_store,  // store_weak, and the destination of a copy
  sync_warp,
  sync_block,
};
const char* site_op_name(SiteOp op);

enum class Operator : std::uint8_t {
  remove,        // a fence or a barrier is left out; an access that orders becomes relaxed
  weaken,        // acq_rel or sc: acquire only
  weaken_other,  // acq_rel or sc: release only
  weaken_sc,     // sc: acq_rel only
  narrow_gpu,    // the scope becomes gpu
  narrow_block,  // the scope becomes block
  plain,         // a strong access becomes a weak one
  ordinary,      // a doorbell is stored as ordinary memory is
  delay,         // a store takes place after the thread's next store
  no_flush,      // a DUMP becomes a NOP
};
const char* operator_name(Operator op);

// Names a site across worlds.
struct SiteKey {
  std::string name;  // of device/order.h; "" for an unnamed order
  std::string file;  // "device/ring.h"
  std::uint32_t line = 0;
  SiteOp op = SiteOp::load;

  bool operator==(const SiteKey&) const = default;
  auto operator<=>(const SiteKey&) const = default;
  std::string text() const;
};

struct Mutation {
  SiteKey site;  // with a name and without a file: every site of that order
  Operator op = Operator::remove;

  std::string text() const;
};

// What a thread really does at a site.
struct Effect {
  weak::Sem sem = weak::Sem::relaxed;
  Scope scope = Scope::system;
  bool skip = false;
  bool delay = false;
  bool ordinary = false;
  bool no_flush = false;
};

struct OrderSite {
  SiteKey key;
  weak::Site where;                    // what accesses show in traces
  weak::Sem sem = weak::Sem::relaxed;  // as written
  Scope scope = Scope::system;         // as written, Scope::nic included
  Effect effect;
};

// The sites of one world.
class SiteTable {
 public:
  // What a call of the Machine says of itself; `file` is a string literal.
  struct Call {
    std::string_view name;
    const char* file;
    std::uint32_t line;
    SiteOp op;
    Kind kind;
    Scope scope;
    const void* order;  // tells orders of one line apart
  };

  // `nic_scope`: what Scope::nic stands for.
  void set_nic_scope(Scope nic_scope);
  void set_mutations(std::vector<Mutation> mutations);

  const OrderSite& at(const Call& call) {
    Slot& slot = cache_[hash(call) % cache_.size()];
    const bool hit = slot.order == call.order && slot.line == call.line && slot.file == call.file &&
                     slot.op == call.op;
    return hit ? *slot.site : find(call, slot);
  }

  // All sites that threads have come past.
  const std::deque<OrderSite>& all() const { return sites_; }

 private:
  struct Slot {
    const void* order = nullptr;
    const char* file = nullptr;
    std::uint32_t line = 0;
    SiteOp op = SiteOp::load;
    const OrderSite* site = nullptr;
  };

  static std::size_t hash(const Call& call) {
    const auto file = reinterpret_cast<std::uintptr_t>(call.file);
    const auto order = reinterpret_cast<std::uintptr_t>(call.order);
    return (file >> 3 ^ order >> 2 ^ order >> 9) + call.line * 67u + static_cast<unsigned>(call.op);
  }
  const OrderSite& find(const Call& call, Slot& slot);
  void resolve(OrderSite& site) const;

  std::array<Slot, 256> cache_{};
  std::deque<OrderSite> sites_;
  Scope nic_scope_ = Scope::system;
  std::vector<Mutation> mutations_;
};

}  // namespace gdakit::sim

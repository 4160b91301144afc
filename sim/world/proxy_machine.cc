#include "sim/world/proxy_machine.h"

namespace gdakit::sim {

std::uint64_t SimProxyMachine::load_raw(const void* from, std::uint32_t size,
                                        const OrderSite& site) {
  const weak::Address at = address(from);
  if (delayed_.has_value() && delayed_->covers(at, size)) return delayed_->at(at, size);
  if (delayed_.has_value() && delayed_->meets(at, size)) perform_delayed();
  const Effect& effect = site.effect;
  return around_->memory.load(agent_, at, size, {effect.sem, effect.scope, &site.where});
}

void SimProxyMachine::store_raw(void* to, std::uint32_t size, std::uint64_t value,
                                const OrderSite& site) {
  const Effect& effect = site.effect;
  const weak::Access access{effect.sem, effect.scope, &site.where};
  if (delayed_.has_value() && delayed_->meets(address(to), size)) perform_delayed();
  if (effect.delay) {
    perform_delayed();
    delayed_ = DelayedStore{address(to), size, value, access};
    return;
  }
  around_->memory.store(agent_, address(to), size, value, access);
  perform_delayed();
}

void SimProxyMachine::store_weak(format::Segment* to, const format::Segment& segment,
                                 const char* file, std::uint32_t line) {
  const OrderSite& at = plain(SiteOp::plain_store, file, line);
  store_raw(&to->low, sizeof(to->low), segment.low, at);
  store_raw(&to->high, sizeof(to->high), segment.high, at);
}

void SimProxyMachine::store_mmio(std::uint64_t* to, std::uint64_t value, const char* file,
                                 std::uint32_t line) {
  const OrderSite& at = plain(SiteOp::mmio, file, line);
  if (at.effect.ordinary) {
    around_->memory.find(FindingKind::mmio,
                         "a doorbell register was touched by an access for ordinary memory, which "
                         "may be merged, repeated or cached; use store_mmio");
    return;
  }
  const std::uint64_t offset = around_->space.offset(reinterpret_cast<std::uint64_t>(to));
  around_->doorbells.store(pe_, agent_, offset, value, &at.where);
  perform_delayed();
}

void SimProxyMachine::perform_delayed() {
  if (!delayed_.has_value()) return;
  const DelayedStore store = *delayed_;
  delayed_.reset();
  around_->memory.store(agent_, store.to, store.size, store.value, store.access);
}

}  // namespace gdakit::sim

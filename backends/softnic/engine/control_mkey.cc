// The control path: memory keys.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {

Outcome<MemoryKey> Engine::reg_mr(const MrAttributes& attributes, Uid uid) {
  if (pds_.find(attributes.pd, uid) == nullptr) {
    return refusal(CommandSyndrome::reg_mr_pd, attributes.pd);
  }
  const Outcome<MemoryKey> key = core_.keys.add(attributes, uid);
  if (!key) return key;
  for (const MemoryRange& piece : core_.keys.memory(*key)) {
    core_.port.attach(piece.base, piece.length);
  }
  return key;
}

Outcome<> Engine::rereg_mr(MemoryKey key, const MrAttributes& attributes, Uid uid) {
  if (pds_.find(attributes.pd, uid) == nullptr) {
    return refusal(CommandSyndrome::reg_mr_pd, attributes.pd);
  }
  const std::optional<std::vector<MemoryRange>> before = core_.keys.find_memory(key, uid);
  if (!before) return refusal(CommandSyndrome::rereg_mr_absent, key);
  const Outcome<> changed = core_.keys.change(key, attributes, uid);
  if (!changed) return changed;
  for (const MemoryRange& piece : core_.keys.memory(key)) {
    core_.port.attach(piece.base, piece.length);
  }
  remove({.key = key, .memory = *before});
  return {};
}

Outcome<> Engine::dereg_mr(MemoryKey key, Uid uid) {
  const Outcome<> removed = core_.keys.remove(key, uid);
  if (!removed) return removed;
  // Its entry says where it was until then.
  remove({.key = key, .memory = core_.keys.memory(key)});
  core_.keys.forget_pages(key);
  return {};
}

Outcome<MemoryKey> Engine::alloc_mw(PdNumber pd, WindowType type, Uid uid) {
  if (pds_.find(pd, uid) == nullptr) return refusal(CommandSyndrome::alloc_mw_pd, pd);
  return core_.keys.add_window(pd, type, uid);
}

// No packet names memory by it: what is under way is this NIC's DMA.
Outcome<> Engine::dealloc_mw(MemoryKey key, Uid uid) {
  const Outcome<> removed = core_.keys.remove_window(key, uid);
  if (removed) remove({});
  return removed;
}

Outcome<MemoryKey> Engine::create_mkey(const MkeyAttributes& attributes, Uid uid) {
  if (pds_.find(attributes.pd, uid) == nullptr) {
    return refusal(CommandSyndrome::create_mkey_pd, attributes.pd);
  }
  const Outcome<MemoryKey> key = core_.keys.add_mkey(attributes, uid);
  if (!key) return key;
  for (const MemoryRange& piece : core_.keys.memory(*key)) {
    core_.port.attach(piece.base, piece.length);
  }
  return key;
}

Outcome<MkeyInfo> Engine::query_mkey(MemoryKey key, Uid uid) const {
  return core_.keys.query_mkey(key, uid);
}

Outcome<> Engine::destroy_mkey(MemoryKey key, Uid uid) {
  const Outcome<MemoryKey> removed = core_.keys.remove_mkey(key, uid);
  if (!removed) return removed.status();
  remove({.key = *removed, .memory = core_.keys.memory(*removed)});
  return {};
}

}  // namespace gdakit::softnic

#include "sim/world/sites.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace gdakit::sim {
namespace {

weak::Sem sem_of(const SiteTable::Call& call) {
  if (call.op == SiteOp::plain_load || call.op == SiteOp::plain_store) return weak::Sem::weak;
  switch (call.kind) {
    case Kind::relaxed: return weak::Sem::relaxed;
    case Kind::acquire: return weak::Sem::acquire;
    case Kind::release: return weak::Sem::release;
    case Kind::acq_rel: return weak::Sem::acq_rel;
    case Kind::sc: return weak::Sem::sc;
  }
  return weak::Sem::relaxed;
}

// From the root of the sources on. Compilers that cache objects name files so already.
std::string short_file(std::string_view file) {
  for (const std::string_view room : {"device/", "sim/", "tests/", "examples/", "tools/"}) {
    if (file.substr(0, room.size()) == room) return std::string(file);
    const std::size_t at = file.rfind("/" + std::string(room));
    if (at != std::string_view::npos) return std::string(file.substr(at + 1));
  }
  return std::string(file);
}

// Whether a file is one of gdakit's own device/: as the build names it, or in a tree of gdakit's
// headers, wherever that is.
bool is_of_protocol(std::string_view file) {
  while (file.starts_with("./")) file.remove_prefix(2);
  if (file.starts_with("device/")) return true;
  const std::size_t at = file.rfind("/device/");
  if (at == file.npos) return false;
  std::error_code ignored;
  return std::filesystem::exists(std::string(file.substr(0, at)) + "/sim/world/sites.h", ignored);
}

void apply(Operator op, SiteOp site, Effect& effect) {
  const bool removable =
      site == SiteOp::fence || site == SiteOp::sync_warp || site == SiteOp::sync_block;
  switch (op) {
    case Operator::remove:
      effect.skip = removable;
      effect.sem = weak::Sem::relaxed;
      break;
    case Operator::weaken: effect.sem = weak::Sem::acquire; break;
    case Operator::weaken_other: effect.sem = weak::Sem::release; break;
    case Operator::weaken_sc: effect.sem = weak::Sem::acq_rel; break;
    case Operator::narrow_gpu: effect.scope = Scope::gpu; break;
    case Operator::narrow_block: effect.scope = Scope::block; break;
    case Operator::plain: effect.sem = weak::Sem::weak; break;
    case Operator::ordinary: effect.ordinary = true; break;
    case Operator::delay: effect.delay = true; break;
    case Operator::no_flush: effect.no_flush = true; break;
  }
}

}  // namespace

const char* site_op_name(SiteOp op) {
  switch (op) {
    case SiteOp::load: return "load";
    case SiteOp::store: return "store";
    case SiteOp::rmw: return "rmw";
    case SiteOp::fence: return "fence";
    case SiteOp::mmio: return "mmio";
    case SiteOp::plain_load: return "plain load";
    case SiteOp::plain_store: return "plain store";
    case SiteOp::sync_warp: return "sync_warp";
    case SiteOp::sync_block: return "sync_block";
  }
  return "";
}

const char* operator_name(Operator op) {
  switch (op) {
    case Operator::remove: return "remove";
    case Operator::weaken: return "acquire only";
    case Operator::weaken_other: return "release only";
    case Operator::weaken_sc: return "acq_rel only";
    case Operator::narrow_gpu: return "scope gpu";
    case Operator::narrow_block: return "scope block";
    case Operator::plain: return "weak access";
    case Operator::ordinary: return "ordinary store";
    case Operator::delay: return "after the next store";
    case Operator::no_flush: return "no flush";
  }
  return "";
}

std::string SiteKey::text() const {
  const std::string at = file + ":" + std::to_string(line) + " " + site_op_name(op);
  return name.empty() ? at : at + " " + name;
}

std::string Mutation::text() const { return site.text() + ": " + operator_name(op); }

void SiteTable::set_nic_scope(Scope nic_scope) {
  if (nic_scope == nic_scope_) return;
  nic_scope_ = nic_scope;
  for (OrderSite& site : sites_) resolve(site);
}

void SiteTable::set_mutations(std::vector<Mutation> mutations) {
  mutations_ = std::move(mutations);
  for (OrderSite& site : sites_) resolve(site);
}

const OrderSite& SiteTable::find(const Call& call, Slot& slot) {
  const SiteKey key{std::string(call.name), short_file(call.file), call.line, call.op};
  const weak::Sem sem = sem_of(call);
  auto found = std::find_if(sites_.begin(), sites_.end(), [&](const OrderSite& site) {
    return site.key == key && site.sem == sem && site.scope == call.scope;
  });
  if (found == sites_.end()) {
    OrderSite& site = sites_.emplace_back();
    site.key = key;
    site.where = {site.key.name.c_str(), call.file, call.line, is_of_protocol(call.file)};
    site.sem = sem;
    site.scope = call.scope;
    resolve(site);
    found = sites_.end() - 1;
  }
  slot = {call.order, call.file, call.line, call.op, &*found};
  return *found;
}

void SiteTable::resolve(OrderSite& site) const {
  site.effect = {};
  site.effect.sem = site.sem;
  site.effect.scope = site.scope == Scope::nic ? nic_scope_ : site.scope;
  for (const Mutation& mutation : mutations_) {
    const bool everywhere = mutation.site.file.empty() && mutation.site.name == site.key.name;
    if (everywhere || mutation.site == site.key) apply(mutation.op, site.key.op, site.effect);
  }
}

}  // namespace gdakit::sim

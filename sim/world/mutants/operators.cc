#include "sim/world/mutants/operators.h"

namespace gdakit::sim::mutants {
namespace {

// What can be made weaker at a site.
std::vector<Operator> operators_for(const OrderSite& site) {
  std::vector<Operator> found;
  const auto add = [&found](Operator op) { found.push_back(op); };
  const auto narrow = [&] {
    if (site.scope == Scope::system || site.scope == Scope::nic) add(Operator::narrow_gpu);
    if (site.scope != Scope::block) add(Operator::narrow_block);
  };
  const bool orders = site.sem != weak::Sem::relaxed && site.sem != weak::Sem::weak;
  switch (site.key.op) {
    case SiteOp::fence:
    case SiteOp::rmw:
      if (orders) add(Operator::remove);
      if (site.sem == weak::Sem::acq_rel || site.sem == weak::Sem::sc) {
        add(Operator::weaken);
        add(Operator::weaken_other);
      }
      if (site.sem == weak::Sem::sc) add(Operator::weaken_sc);
      narrow();
      break;
    case SiteOp::load:
      if (orders) add(Operator::remove);
      narrow();
      add(Operator::plain);
      break;
    case SiteOp::store:
      if (orders) add(Operator::remove);
      narrow();
      add(Operator::plain);
      // A release that comes later still covers what stands before it.
      if (!orders) add(Operator::delay);
      break;
    case SiteOp::mmio: add(Operator::ordinary); break;
    case SiteOp::plain_store:
      add(Operator::delay);
      if (site.key.file == "device/wqe_writer.h") add(Operator::no_flush);
      break;
    case SiteOp::plain_load: break;
    case SiteOp::sync_warp:
    case SiteOp::sync_block: add(Operator::remove); break;
  }
  return found;
}

std::vector<SiteName> names_of(const std::vector<OrderSite>& sites) {
  std::vector<SiteName> names;
  for (const OrderSite& site : sites) {
    SiteName name{site.key.file, site.key.name, site.key.op, 1};
    for (const OrderSite& other : sites) {
      const bool before = other.key.file == site.key.file && other.key.name == site.key.name &&
                          other.key.op == site.key.op && other.key.line < site.key.line;
      if (before) ++name.number;
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<MutantResult> first_order(const std::vector<OrderSite>& sites) {
  const std::vector<SiteName> names = names_of(sites);
  std::vector<MutantResult> mutants;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (const Operator op : operators_for(sites[i])) {
      MutantResult mutant;
      mutant.mutations = {{sites[i].key, op}};
      mutant.sites = {names[i]};
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

std::vector<MutantResult> pairs_of(const std::vector<MutantResult>& survivors) {
  std::vector<MutantResult> pairs;
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    for (std::size_t k = i + 1; k < survivors.size(); ++k) {
      const Mutation& a = survivors[i].mutations[0];
      const Mutation& b = survivors[k].mutations[0];
      const bool removals = a.op == Operator::remove && b.op == Operator::remove;
      if (!removals || a.site == b.site) continue;
      MutantResult pair;
      pair.mutations = {a, b};
      pair.sites = {survivors[i].sites[0], survivors[k].sites[0]};
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace gdakit::sim::mutants

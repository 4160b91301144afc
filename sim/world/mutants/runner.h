// Runner: runs mutants in all scenarios, one at a time. Every thread has one of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/choice/subject.h"
#include "sim/world/mutants/mutants.h"
#include "sim/world/world.h"

namespace gdakit::sim::mutants {

// What a scenario's executions without a mutation have shown.
struct Discovery {
  std::string scenario;
  std::vector<OrderSite> sites;  // of device/ that its threads came past
  bool passes = true;
  std::uint64_t accesses = 0;  // of memory, of one execution

  bool visits(const SiteKey& key) const;
};

class Runner {
 public:
  explicit Runner(const MutantOptions& options);

  std::size_t scenarios() const { return scenarios_.size(); }
  // Runs that scenario without a mutation.
  Discovery discover(std::size_t scenario, std::uint64_t executions);

  // Runs a mutant in ever more executions of every scenario that passes without it and comes past
  // its sites, until one finds it. `first`, a name or "", comes first, with all its executions.
  void run(MutantResult& result, const std::vector<Discovery>& discoveries,
           const std::string& first);

 private:
  struct Scenario {
    std::unique_ptr<Subject> subject;
    World* world;
  };

  // How many executions of that scenario a mutant gets.
  std::uint64_t most_of(const Discovery& discovery, bool argued) const;
  bool try_in(Scenario& scenario, MutantResult& result, std::uint64_t from, std::uint64_t to);
  void measure(Scenario& scenario, MutantResult& result);

  const MutantOptions options_;
  std::vector<Scenario> scenarios_;
};

}  // namespace gdakit::sim::mutants

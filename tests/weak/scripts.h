// Scripts: small programs over the weak memory, and everything they can end with.
//
//   const Outcomes seen = outcomes({Script(kGpu0).store(kX, 1, weak()).store(kFlag, 1, release()),
//                                   Script(kGpu1).load(kFlag, acquire()).load(kX, weak())});
//
// An outcome is what the loads and updates returned, script by script; of finals() also what the
// places hold at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/weak/memory.h"

namespace gdakit::sim::weak::test {

inline constexpr Address kX = 0, kY = 8, kFlag = 16;

// Two blocks on GPU 0, one on GPU 1, a host thread and two NICs.
inline constexpr Place kBlock0{0, 0}, kBlock1{1, 0}, kGpu1{2, 1}, kHost{3, 2};
inline constexpr Place kNic{4, 3, true};

inline Access weak() { return {}; }
inline Access strong(Sem sem, Scope scope) {
  Access access;
  access.sem = sem;
  access.scope = scope;
  return access;
}
inline Access relaxed(Scope scope = Scope::system) { return strong(Sem::relaxed, scope); }
inline Access acquire(Scope scope = Scope::system) { return strong(Sem::acquire, scope); }
inline Access release(Scope scope = Scope::system) { return strong(Sem::release, scope); }

// An update that adds.
Update adding(std::uint64_t operand);

class Script {
 public:
  using Values = std::vector<std::uint64_t>;
  using Step = std::function<void(Memory&, AgentId, Values&)>;

  explicit Script(const Place& place) : place_(place) {}

  Script& store(Address to, std::uint64_t value, const Access& access, std::uint32_t size = 8);
  Script& load(Address from, const Access& access, std::uint32_t size = 8);
  // Settled after the script's last step; its value comes behind those of the others.
  Script& load_later(Address from, const Access& access);
  Script& add(Address at, std::uint64_t operand, const Access& access);
  Script& fence(Sem sem, Scope scope = Scope::system);
  Script& step(Step step);

  const Place& place() const { return place_; }
  // In order, those that settle what is open at the end.
  std::vector<Step> steps() const;

 private:
  Place place_;
  std::vector<Step> steps_;
  std::vector<Step> ends_;
};

using Outcomes = std::set<std::vector<std::uint64_t>>;

// All interleavings and all choices of the memory.
Outcomes outcomes(const std::vector<Script>& scripts, const MemoryOptions& options = {});
// The same; each outcome ends with the final values of `places`.
Outcomes finals(const std::vector<Script>& scripts, const std::vector<Address>& places,
                const MemoryOptions& options = {});
// What goes wrong in one execution or another.
std::set<FindingKind> findings(const std::vector<Script>& scripts);
// The first sentence that says so.
std::string finding_text(const std::vector<Script>& scripts);

inline bool has(const Outcomes& all, const std::vector<std::uint64_t>& one) {
  return all.count(one) != 0;
}

}  // namespace gdakit::sim::weak::test

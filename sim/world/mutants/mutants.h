// Mutants: is every order of the protocol needed, and is there a scenario that notices when it is
// missing?
//
//   sites of device/*.h that the scenarios come past
//     x operators that make sense there (sites.h)
//     = mutants; each runs in every scenario that comes past its site, until one finds it
//
// A mutant that no scenario finds is a survivor: a scenario is missing, or the order is not needed,
// or the mutant is equivalent for a reason that stands in the table of arguments (arguments.cc).
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/choice/subject.h"
#include "sim/world/sites.h"

namespace gdakit::sim {

// Which one of several sites with the same name in one file: lines move, this does not.
struct SiteName {
  std::string file;
  std::string name;  // of the order; "" for an unnamed one
  SiteOp op = SiteOp::load;
  std::uint32_t number = 1;  // counted from the top of the file

  bool operator==(const SiteName&) const = default;
  std::string text() const;  // "device/ring.h fence RecordBeforeDoorbell #1"
};

struct MutantResult {
  std::vector<Mutation> mutations;  // one, or two for a second-order mutant
  std::vector<SiteName> sites;      // of the mutations
  std::string killer;               // the scenario; "" for a survivor
  FindingKind finding = FindingKind::none;
  std::uint64_t first_kill = 0;  // the execution of that scenario, counted from 1
  double kill_rate = 0;          // of that scenario's executions that find it
  std::string argument;          // why a survivor is equivalent; "" if nobody has said so
  std::string tried_by;          // the scenario that the argument names
  std::uint64_t executions = 0;  // spent

  bool killed() const { return !killer.empty(); }
  std::string text() const;
};

struct MutantOptions {
  std::uint64_t executions = 1000;  // of each scenario
  // ... where arguments() says why the mutant changes nothing, but of the scenario that it names;
  // 0: as many. These are what takes time, for they run to the end.
  std::uint64_t argued_executions = 100;
  // Of a scenario whose executions are long no more of these than make so many accesses of memory.
  std::uint64_t argued_accesses = 100'000;
  std::uint64_t seed = 1;
  std::uint64_t rate_executions = 40;  // to measure kill_rate
  bool second_order = true;
  std::string only = {};  // only mutants whose text contains this
  // Where the project's sources lie: a site there that no scenario comes past is a defect. Empty:
  // nobody looks.
  std::filesystem::path sources = {};
  // The run ends, with what it has found so far, when this becomes true; null: never.
  const std::atomic<bool>* stop = nullptr;
};

struct MutantReport {
  std::vector<MutantResult> first_order;
  std::vector<MutantResult> second_order;  // pairs of survivors
  double seconds = 0;
  std::size_t not_run = 0;  // mutants that MutantOptions::stop has left out

  std::size_t killed() const;
  // Survivors without an argument, and the complaints.
  std::vector<std::string> defects() const;
  // Arguments for mutants that are killed; sites that no scenario comes past; and scenarios that
  // fail without a mutation, which are left out: what they find says nothing of mutants.
  std::vector<std::string> complaints;
};

using MutantProgress = std::function<void(std::size_t done, std::size_t all)>;

// Why no mutant's text contains `only`, as far as that can be said before the scenarios have been
// searched for the places that mutants change; "" if some may.
std::string problem_of_name(const std::string& only);

// Runs all mutants of the scenarios of scenario_list().
MutantReport run_mutants(const MutantOptions& options, const MutantProgress& progress = {});

// The report as a Markdown page, as docs/mutants.md has it.
std::string to_markdown(const MutantReport& report);

// What a survivor's argument rests on.
enum class Contract : std::uint8_t {
  own_word,      // who reads the word wrote it, or has been told in an order that covers it
  met_since,     // the group meets between the store and whoever reads it
  later_fence,   // a fence of the same thread follows both stores
  advice,        // whoever reads the word would do the same with what it held a moment before
  device_alone,  // the host changes the word between launches alone, which are ordered
  host_tells,    // the host writes the word meanwhile, which a thread does in its place
  compiler,      // it orders nothing: it is for a GPU's compiler
};
const char* contract_name(Contract contract);

// Why a mutant that no scenario finds changes nothing that matters. `scenario` comes past the site
// and would notice if that were wrong: it runs for longer than the others.
struct Argument {
  SiteName site;
  Operator op;
  Contract contract;
  const char* scenario;
  const char* text;
};
const std::vector<Argument>& arguments();

}  // namespace gdakit::sim

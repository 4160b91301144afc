// Axioms: whether a candidate execution is one that PTX allows.
//
// A candidate is one path of every thread, and for every read the write it reads from. The names
// are those of the PTX ISA, chapter "Memory Consistency Model".
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/litmus/paths.h"
#include "tests/litmus/relation.h"

namespace gdakit::sim::litmus {

// The value that was there at the beginning.
inline constexpr std::uint32_t kInitial = 64;

struct Event {
  const PathEvent* is = nullptr;
  std::uint32_t thread = 0;
};

// What showing an execution asks of a machine (buffering.h).
struct Needs {
  bool buffering = false;   // some read must take effect later than its place
  bool within = true;       // the stated limits of load buffering can be kept
  std::uint32_t cause = 0;  // if not: an index into kCauses

  // Needs that are met if these or the other ones are.
  Needs operator|(const Needs& other) const {
    const Needs& less =
        within == other.within ? (cause < other.cause ? *this : other) : (within ? *this : other);
    return {buffering && other.buffering, less.within, less.cause};
  }
};

class Candidate {
 public:
  // One path for each thread. Both outlive the candidate.
  Candidate(const Program& program, const std::vector<const Path*>& paths);

  std::uint32_t count() const { return count_; }
  Events reads() const { return reads_; }
  // Writes that the read may return as far as program order and its location say, kInitial's bit
  // left out.
  Events sources(std::uint32_t read) const { return sources_[read]; }
  bool may_read_initial(std::uint32_t read) const { return initial_allowed_[read]; }
  // Whether two read-modify-writes that both read `source` break atomicity whatever else happens.
  bool exclusive(std::uint32_t read, std::uint32_t other, std::uint32_t source) const;

  void read_from(std::uint32_t read, std::uint32_t source) { source_[read] = source; }

  // What follows once every read has its source.

  // Computes the values. False if they depend on themselves, or are not those of these paths.
  bool evaluate();
  // The final value of a register.
  std::int64_t register_value(std::uint32_t thread, std::uint32_t number) const;
  // The set of final values that each location may have.
  using FinalValues = std::vector<std::set<std::int64_t>>;
  struct Allowance {
    FinalValues values;
    Needs needs;
  };
  // One entry for each way to order the fence.sc; empty if the axioms forbid the candidate.
  std::vector<Allowance> allowances();

 private:
  friend class CoherenceSearch;
  friend class Buffering;

  void add_program_order(const std::vector<const Path*>& paths);
  void find_patterns();
  void find_sources();
  bool includes_other(const Event& from, const Event& to) const;
  bool morally_strong(std::uint32_t first, std::uint32_t second) const;
  bool is_write(std::uint32_t event) const {
    return events_[event].is->kind == PathEvent::Kind::write;
  }
  bool same_place(std::uint32_t first, std::uint32_t second) const {
    return (at_location_[events_[first].is->location] >> second & 1) != 0;
  }
  std::int64_t value_of(std::uint32_t thread, ExpressionId id) const;

  void observe();
  std::optional<Events> awaited(std::uint32_t thread, const Instruction& barrier,
                                const Instruction& of, std::int64_t name, Events arrivals) const;
  bool synchronize_barriers();
  void synchronize_patterns();
  bool fences_in_order(const std::vector<std::uint32_t>& order);
  void find_causality();
  bool reads_respect_causality() const;
  Needs needs(const std::vector<std::uint32_t>& order) const;
  bool next_fence_order(std::vector<std::uint32_t>& order) const;

  const Program& program_;
  std::vector<const Path*> paths_;
  std::vector<std::uint32_t> first_event_;  // of each thread
  std::vector<Event> events_;
  std::uint32_t count_ = 0;
  Events reads_ = 0, writes_ = 0, fences_sc_ = 0, barriers_ = 0;
  std::vector<Events> at_location_;
  Relation program_order_;
  Relation strong_;                       // morally strong
  std::vector<Events> first_of_release_;  // [write] first operations of its release patterns
  std::vector<Events> last_of_acquire_;   // [read] last operations of its acquire patterns
  std::vector<Events> sources_;
  std::vector<bool> initial_allowed_;
  std::vector<std::uint32_t> half_;  // [read of a read-modify-write] its write

  std::vector<std::uint32_t> source_;  // [read]
  std::vector<std::int64_t> value_;    // [read or write]
  Relation observation_;
  Relation meets_;         // barriers
  Relation synchronizes_;  // without fence.sc
  Relation base_;          // base causality order
  Relation causality_;     // between accesses of one place
};

}  // namespace gdakit::sim::litmus

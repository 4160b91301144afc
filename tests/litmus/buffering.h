// Buffering: the load buffering that a candidate execution asks of a machine which runs it.
//
// A machine executes one operation after the other, those of a thread in program order; only reads
// may take effect later than their place. An execution in which program order, reads-from, barriers
// and the order of the fence.sc have no cycle needs no late read. Of the others the machine of
// sim/weak shows those whose late reads keep the limits below. The limits are stated in the words
// of the axioms and share nothing with the machine. One that is stated too loosely shows as an
// outcome that is missed without a cause, one that is too strict as an outcome that is shown beyond
// the limits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/litmus/axioms.h"

namespace gdakit::sim::litmus {

enum class Limit : std::uint8_t {
  acquire,         // an access that acquires is never late
  behind_acquire,  // nor a strong read behind a fence that acquires or an acquire of its place
  own_place,       // nor an update behind another access of its own thread to its place
  sc_order,        // nor any read if a fence.sc alone comes between it and writes of others
  known_update,    // nor an update behind whatever knows of it
  operand,         // nor any read behind an instruction that uses its value
};

// Limits as bits.
using LimitSet = std::uint32_t;
constexpr LimitSet limit_bit(Limit limit) { return LimitSet{1} << static_cast<unsigned>(limit); }
inline constexpr LimitSet kAcquires = limit_bit(Limit::acquire) | limit_bit(Limit::behind_acquire);
inline constexpr LimitSet kAllLimits = (LimitSet{1} << 6) - 1;

// Why a machine does not show an execution: lifting these limits would be enough for it, and
// lifting those of the causes before would not.
struct Cause {
  const char* name;  // for the head of a column
  LimitSet lifted;
};
inline constexpr std::array<Cause, 8> kCauses = {{
    {"acquire", limit_bit(Limit::acquire)},
    {"behind", limit_bit(Limit::behind_acquire)},
    {"both", kAcquires},
    // One more limit, with or without these two.
    {"own", kAcquires | limit_bit(Limit::own_place)},
    {"sc", kAcquires | limit_bit(Limit::sc_order)},
    {"known", kAcquires | limit_bit(Limit::known_update)},
    {"operand", kAcquires | limit_bit(Limit::operand)},
    {"several", kAllLimits},
}};

class Buffering {
 public:
  // `base` is the base causality order of the candidate, `before` relates barrier events that end
  // each other and the fence.sc in their order. All outlive this.
  Buffering(const Candidate& candidate, const Relation& base, const Relation& before)
      : candidate_(candidate), base_(base), before_(before) {}

  Needs needs() const;

 private:
  bool runs_in_order() const;
  bool runs(LimitSet kept) const;
  Relation fixed_order(std::vector<std::uint32_t>& node) const;
  void add_late(Relation& order, std::uint32_t read, LimitSet kept) const;
  std::uint32_t settled_at(std::uint32_t read, LimitSet kept) const;
  bool settles(std::uint32_t read, std::uint32_t event, LimitSet kept) const;
  bool fence_settles(std::uint32_t fence) const;
  bool knows_again(std::uint32_t read, std::uint32_t event) const;
  bool writes_before_use(std::uint32_t read, LimitSet kept) const;
  bool uses(std::uint32_t event, std::uint32_t read) const;
  bool is_acyclic(const Relation& order, const std::vector<std::uint32_t>& node) const;
  std::uint32_t end_of_thread(std::uint32_t event) const;

  const Candidate& candidate_;
  const Relation& base_;
  const Relation& before_;
};

}  // namespace gdakit::sim::litmus

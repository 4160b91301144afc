#include "sim/choice/choice.h"

namespace gdakit::sim {

bool independent(const NextStep& a, const NextStep& b) {
  using Kind = NextStep::Kind;
  if (a.kind == Kind::unknown || b.kind == Kind::unknown) return false;
  if (a.kind == Kind::local || b.kind == Kind::local) return true;
  if (a.kind == Kind::sc || b.kind == Kind::sc) {
    // Two of them are ordered by a clock they share. Anything else leaves that clock alone.
    return a.kind != b.kind;
  }
  if (a.kind == Kind::sync || b.kind == Kind::sync) {
    return a.kind != b.kind || a.object != b.object;
  }
  return a.object != b.object || (a.kind == Kind::load && b.kind == Kind::load);
}

const char* choice_name(Choice kind) {
  switch (kind) {
    case Choice::agent: return "preemption";
    case Choice::load: return "stale read";
    case Choice::position: return "late store";
    case Choice::defer: return "deferred access";
    case Choice::gather: return "early lane";
    case Choice::delivery: return "reordered delivery";
    case Choice::fault: return "fault";
    case Choice::knob: return "knob";
    case Choice::program: return "other program";
  }
  return "?";
}

}  // namespace gdakit::sim

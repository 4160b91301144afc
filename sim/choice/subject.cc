#include "sim/choice/subject.h"

namespace gdakit::sim {

const char* finding_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::none: return "no finding";
    case FindingKind::race: return "race";
    case FindingKind::mixed_size: return "mixed sizes";
    case FindingKind::weak_poll: return "weak poll";
    case FindingKind::mmio: return "MMIO misuse";
    case FindingKind::stray: return "stray access";
    case FindingKind::hang: return "hang";
    case FindingKind::group: return "group misuse";
    case FindingKind::invariant: return "invariant";
    case FindingKind::thrown: return "exception";
    case FindingKind::setup: return "set-up";
  }
  return "?";
}

}  // namespace gdakit::sim

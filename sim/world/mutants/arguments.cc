#include "sim/world/mutants/mutants.h"

namespace gdakit::sim {

namespace {

constexpr const char* kPostedIsAdvice =
    "QueueState::posted is read in reports, and by threads that complete what others announced on "
    "an exclusive queue; to these, an index that is a post old is what they would have read a "
    "moment before.";

constexpr const char* kStaleLap =
    "Not equivalent, but out of reach: it takes a holder that reads a ready word as it was a whole "
    "lap ago, at the very slot whose last use has completed without its knowledge. No execution "
    "of a scenario posts a lap over two ready words.";

}  // namespace

const std::vector<Argument>& arguments() {
  static const std::vector<Argument> kArguments = {
      {{"device/publication.h", "", SiteOp::store, 1},
       Operator::delay,
       "The index of an exclusive queue is read by its owner, in the order of its program, and by "
       "others in reports of stalls, where one that is a post old is no less true."},
      {{"device/quiet.h", "", SiteOp::plain_store, 1},
       Operator::delay,
       "The epoch is read by the next barrier only, whose caller comes after this one's by an "
       "order of the kernel's own."},
      {{"device/ring.h", "", SiteOp::store, 1},
       Operator::delay,
       "The record changes places with QueueState::posted, which says the same; the fence before "
       "the doorbell follows both."},
      {{"device/ring.h", "", SiteOp::store, 2}, Operator::delay, kPostedIsAdvice},
      {{"device/ring.h", "", SiteOp::store, 3}, Operator::delay, kPostedIsAdvice},
      {{"device/watchdog.h", "", SiteOp::load, 1},
       Operator::narrow_gpu,
       "The host changes the state of a report between launches alone, which are ordered."},
      {{"device/publication.h", "ReadyBeforeRing", SiteOp::fence, 1}, Operator::remove, kStaleLap},
      {{"device/publication.h", "ReadyBeforeRing", SiteOp::fence, 1},
       Operator::narrow_block,
       kStaleLap},
  };
  return kArguments;
}

}  // namespace gdakit::sim

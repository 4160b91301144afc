#include "sim/world/mutants/mutants.h"

namespace gdakit::sim {

const std::vector<Argument>& arguments() {
  static const std::vector<Argument> kArguments = {
      {{"device/publication.h", "", SiteOp::store, 1},
       Operator::delay,
       "The index of an exclusive queue is read by its owner, in the order of its program, and by "
       "others in reports of stalls, where one that is a post old is no less true."},
      {{"device/quiet.h", "", SiteOp::plain_store, 1},
       Operator::delay,
       "The epoch is read by the next barrier only, whose caller comes after this one's by an "
       "order "
       "of the kernel's own."},
  };
  return kArguments;
}

}  // namespace gdakit::sim

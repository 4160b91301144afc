#include "backends/softnic/uverbs/not_armed.h"

#include <cstddef>

#include "backends/softnic/uverbs/user_memory.h"
#include "core/format/cq_doorbell.h"

namespace gdakit::softnic::uverbs {

NotArmed::~NotArmed() {
  if (arm_ != 0) static_cast<void>(write_user(arm_, &before_, sizeof before_));
}

int NotArmed::put(std::uint64_t record) {
  const std::uint64_t arm = record + offsetof(format::CqDoorbellRecord, arm);
  const std::uint32_t not_armed = format::kCqNotArmed;
  if (const int error = read_user(&before_, arm, sizeof before_)) return error;
  if (const int error = write_user(arm, &not_armed, sizeof not_armed)) return error;
  arm_ = arm;
  return 0;
}

}  // namespace gdakit::softnic::uverbs

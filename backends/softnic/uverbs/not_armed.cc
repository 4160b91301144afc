#include "backends/softnic/uverbs/not_armed.h"

#include <cstddef>

#include "backends/softnic/uverbs/client_memory.h"
#include "core/format/cq_doorbell.h"

namespace gdakit::softnic::uverbs {

NotArmed::~NotArmed() {
  if (arm_ == DmaAddress{}) return;
  static_cast<void>(write_memory(device_, arm_, &before_, sizeof before_));
}

int NotArmed::put(DmaAddress record) {
  const DmaAddress arm = record + offsetof(format::CqDoorbellRecord, arm);
  const std::uint32_t not_armed = format::kCqNotArmed;
  if (const int error = read_memory(device_, arm, &before_, sizeof before_)) return error;
  if (const int error = write_memory(device_, arm, &not_armed, sizeof not_armed)) return error;
  arm_ = arm;
  return 0;
}

}  // namespace gdakit::softnic::uverbs

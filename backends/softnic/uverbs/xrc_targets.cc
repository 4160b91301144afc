#include "backends/softnic/uverbs/xrc_targets.h"

#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {

void XrcTargets::add(QpNumber target, XrcdNumber domain) {
  const std::lock_guard lock(mutex_);
  targets_[target] = {domain, 1};
}

bool XrcTargets::open(QpNumber target, XrcdNumber domain) {
  const std::lock_guard lock(mutex_);
  const auto at = targets_.find(target);
  if (at == targets_.end() || at->second.domain != domain) return false;
  ++at->second.users;
  return true;
}

Result<void> XrcTargets::close(Device& device, QpNumber target) {
  const std::lock_guard lock(mutex_);
  const auto at = targets_.find(target);
  if (at->second.users > 1) {
    --at->second.users;
    return {};
  }
  Result<void> ended = run_command_of(device, kUid, prm::Opcode::destroy_qp, target);
  if (is_gone(ended)) targets_.erase(at);
  return ended;
}

}  // namespace gdakit::softnic::uverbs

// Targets of XRC, which several clients may have open: who knows its number and has its domain
// opens it again. It lasts until the last one has closed it, and belongs to none of them.
#pragma once

#include <map>
#include <mutex>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class Device;

class XrcTargets {
 public:
  static constexpr Uid kUid = kNicUid;  // of their commands

  // Its maker has it open.
  void add(QpNumber target, XrcdNumber domain);
  // Once more. False: there is none of this number in the domain.
  bool open(QpNumber target, XrcdNumber domain);
  // The last one to close it ends it. Errors: the command's.
  Result<void> close(Device& device, QpNumber target);

 private:
  struct Target {
    XrcdNumber domain = 0;
    std::uint32_t users = 0;
  };

  std::mutex mutex_;
  std::map<QpNumber, Target> targets_;
};

}  // namespace gdakit::softnic::uverbs

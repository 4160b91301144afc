// Memory of users that commands name by a number (umem) and an offset: queues and doorbell records.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/status.h"

namespace gdakit::softnic {

using UmemNumber = std::uint32_t;

struct Umem {
  MemoryRange memory;
  Uid uid = kNicUid;
  bool writable = true;

  bool holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= memory.length && bytes <= memory.length - offset;
  }
};

struct UmemPart {
  UmemNumber umem = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool written = false;  // the NIC writes there
};

// What an object lies in. As long as one is kept, its umem is not removed.
using UmemUses = std::vector<std::shared_ptr<const Umem>>;

class Umems {
 public:
  // Numbers begin at 1, and are not given again.
  UmemNumber add(const Umem& umem);
  // Refused: there is none of this owner's, or an object lies in it.
  Outcome<> remove(UmemNumber number, Uid uid);

  // Where a command's memory lies, and by which umem. Refused: no umem of this owner's, not all in
  // it, or it is to be written and may not be.
  Outcome<DmaAddress> find(const UmemPart& part, Uid uid, UmemUses& uses) const;

 private:
  std::map<UmemNumber, std::shared_ptr<const Umem>> umems_;
  UmemNumber next_ = 1;
};

}  // namespace gdakit::softnic

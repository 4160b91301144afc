// Memory of users that commands name by a number (umem) and an offset: queues and doorbell records.
#pragma once

#include <cstdint>
#include <map>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/status.h"

namespace gdakit::softnic {

using UmemNumber = std::uint32_t;

class Umems {
 public:
  // Numbers begin at 1, and are not given again.
  UmemNumber add(const MemoryRange& memory, Uid uid);
  // False: there is none of this owner's.
  bool remove(UmemNumber number, Uid uid);

  // Where so many bytes lie. Refused: no umem of this owner's, or they are not all in it.
  Outcome<DmaAddress> find(UmemNumber number, std::uint64_t offset, std::uint64_t bytes,
                           Uid uid) const;

 private:
  struct Umem {
    MemoryRange memory;
    Uid uid = kNicUid;
  };
  std::map<UmemNumber, Umem> umems_;
  UmemNumber next_ = 1;
};

}  // namespace gdakit::softnic

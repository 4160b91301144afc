// CREATE_SRQ and CREATE_XRC_SRQ as the kernel gives them here: where there would be a list of pages
// there is the address of the WQEs.
#pragma once

#include <cstddef>

#include "core/format/prm/srq.h"

namespace gdakit::softnic {

struct CreateSrqAtIn : format::prm::CreateXrcSrqIn {
  static constexpr std::size_t kBytes = 280;
  static constexpr format::prm::Field<CreateSrqAtIn, 2176, 64> wqes{};
};

}  // namespace gdakit::softnic

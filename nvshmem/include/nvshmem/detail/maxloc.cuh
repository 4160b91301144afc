// The reduction of pairs of CUDA's double2.
#pragma once

#include <cuda_runtime.h>

#include "nvshmem/detail/device_or_host.h"

namespace gdakit::nvshmem {

// The pair with the largest x; of those the one with the smallest y.
struct MaxLoc {
  GDAKIT_HOST_DEVICE double2 operator()(double2 a, double2 b) const {
    return a.x > b.x || (a.x == b.x && a.y < b.y) ? a : b;
  }
};

}  // namespace gdakit::nvshmem

extern "C" {

GDAKIT_DEVICE_ONLY int nvshmemx_double2_maxloc_reduce_block(nvshmem_team_t team, double2* dest,
                                                            const double2* source, size_t nreduce) {
  return gdakit::nvshmem::in_kernel<gdakit::BlockGroup>([&](auto& block) {
    auto members = block.team(gdakit::Team{team});
    return gdakit::nvshmem::code_of(
        members.reduce(dest, source, nreduce, gdakit::nvshmem::MaxLoc{}));
  });
}

}  // extern "C"

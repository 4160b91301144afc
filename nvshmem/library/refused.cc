#include "nvshmem/detail/refused.h"

#include "nvshmem/detail/library.h"

namespace {

namespace nv = gdakit::nvshmem;

int refuse(const char* call, const char* why) {
  return nv::status_of(call, gdakit::Error(gdakit::Code::unavailable, why));
}

constexpr const char* kLoaded =
    "kernels in modules that the driver loads have no PE; link them into the program or a library";
constexpr const char* kSymmetric =
    "a buffer of the program's own cannot become symmetric; allocate it by nvshmem_malloc";

}  // namespace

int nvshmemx_cumodule_init(CUmod_st*) { return refuse("nvshmemx_cumodule_init", kLoaded); }
int nvshmemx_cumodule_finalize(CUmod_st*) { return refuse("nvshmemx_cumodule_finalize", kLoaded); }
int nvshmemx_culibrary_init(CUlib_st*) { return refuse("nvshmemx_culibrary_init", kLoaded); }
int nvshmemx_culibrary_finalize(CUlib_st*) {
  return refuse("nvshmemx_culibrary_finalize", kLoaded);
}

void* nvshmemx_buffer_register_symmetric(void*, size_t, int) {
  refuse("nvshmemx_buffer_register_symmetric", kSymmetric);
  return nullptr;
}
void* nvshmemx_buffer_register_symmetric_at_preferred_address(void*, size_t, void*, int) {
  refuse("nvshmemx_buffer_register_symmetric_at_preferred_address", kSymmetric);
  return nullptr;
}
int nvshmemx_buffer_unregister_symmetric(void*, size_t) {
  return refuse("nvshmemx_buffer_unregister_symmetric", kSymmetric);
}

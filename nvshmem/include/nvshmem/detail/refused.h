// Calls that programs name and few of them make, such as benchmarks with an option for it. They are
// there so that these programs compile; a call returns an error, and says on stderr what to do.
#pragma once

#include <cstddef>

// CUmodule and CUlibrary of the CUDA driver.
struct CUmod_st;
struct CUlib_st;

extern "C" {

// The copy of a PE's state in a module that the driver loads cannot be found by its name.
int nvshmemx_cumodule_init(CUmod_st* module);
int nvshmemx_cumodule_finalize(CUmod_st* module);
int nvshmemx_culibrary_init(CUlib_st* library);
int nvshmemx_culibrary_finalize(CUlib_st* library);

// Symmetric memory is that of nvshmem_malloc alone. Null.
void* nvshmemx_buffer_register_symmetric(void* buffer, size_t size, int flags);
void* nvshmemx_buffer_register_symmetric_at_preferred_address(void* buffer, size_t size,
                                                              void* preferred, int flags);
int nvshmemx_buffer_unregister_symmetric(void* memory, size_t size);

}  // extern "C"

// What this library says to CUDA's driver, and hears, by the names and numbers of <cuda.h>: it is
// built without that, too.
#pragma once

namespace gdakit::softnic::uverbs::cuda {

inline constexpr const char* kLibrary = "libcuda.so.1";

using Status = int;  // CUresult
inline constexpr Status kSuccess = 0;
inline constexpr Status kNotFound = 500;  // CUDA_ERROR_NOT_FOUND

using DevicePointer = unsigned long long;  // CUdeviceptr

// CUpointer_attribute
inline constexpr int kMemoryType = 2;
inline constexpr int kDeviceOrdinal = 9;
inline constexpr unsigned kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE

inline constexpr unsigned kRegisterIoMemory = 4;  // CU_MEMHOSTREGISTER_IOMEMORY
inline constexpr int kDmaBufHandle = 1;           // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
// From this version on cuGetProcAddress tells why it found nothing, too.
inline constexpr int kVersionWithReason = 12000;

using PointerGetAttribute = Status(void* data, int attribute, DevicePointer pointer);
using MemHostRegister = Status(void* memory, decltype(sizeof 0) size, unsigned flags);
using MemGetHandle = Status(void* handle, DevicePointer pointer, decltype(sizeof 0) size, int type,
                            unsigned long long flags);
using GetProcAddress = Status(const char* name, void** function, int version,
                              unsigned long long flags);
using GetProcAddressV2 = Status(const char* name, void** function, int version,
                                unsigned long long flags, int* reason);

}  // namespace gdakit::softnic::uverbs::cuda

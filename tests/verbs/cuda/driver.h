// What stands in for CUDA's driver where there is no GPU: it says yes or no as the real one does to
// what a NIC's clients ask of it (seen with driver 580), and shows what it was asked.
#pragma once

#include <cstddef>

extern "C" {

int cuMemHostRegister_v2(void* memory, std::size_t size, unsigned flags);
int cuMemGetHandleForAddressRange(void* handle, unsigned long long pointer, std::size_t size,
                                  int type, unsigned long long flags);
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags);
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* reason);
int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer);

// Of the last registration.
unsigned fake_registered_flags();
}

inline constexpr int kCudaSuccess = 0;
inline constexpr int kCudaInvalidValue = 1;
inline constexpr unsigned kAsPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned kAsIoMemory = 4;  // CU_MEMHOSTREGISTER_IOMEMORY

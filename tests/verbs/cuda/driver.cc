#include "tests/verbs/cuda/driver.h"

#include <cstring>
#include <sys/mman.h>

namespace {

unsigned registered_flags = 0;

void* find(const char* name, int version) {
  if (std::strcmp(name, "cuMemHostRegister") == 0) {
    return reinterpret_cast<void*>(&cuMemHostRegister_v2);
  }
  if (std::strcmp(name, "cuMemGetHandleForAddressRange") == 0) {
    return reinterpret_cast<void*>(&cuMemGetHandleForAddressRange);
  }
  if (std::strcmp(name, "cuGetProcAddress") != 0) return nullptr;
  return version < 12000 ? reinterpret_cast<void*>(&cuGetProcAddress)
                         : reinterpret_cast<void*>(&cuGetProcAddress_v2);
}

}  // namespace

// Of memory, as all here is.
int cuMemHostRegister_v2(void*, std::size_t, unsigned flags) {
  registered_flags = flags;
  return (flags & kAsIoMemory) != 0 ? kCudaInvalidValue : kCudaSuccess;
}

unsigned fake_registered_flags() { return registered_flags; }

int cuMemGetHandleForAddressRange(void* handle, unsigned long long, std::size_t, int,
                                  unsigned long long) {
  const int file = ::memfd_create("a dma-buf", 0);
  std::memcpy(handle, &file, sizeof file);
  return kCudaSuccess;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long long) {
  *function = find(name, version);
  return *function == nullptr ? 500 : kCudaSuccess;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* reason) {
  const int status = cuGetProcAddress(name, function, version, flags);
  if (reason != nullptr) *reason = status;
  return status;
}

// All memory is of GPU 0.
int cuPointerGetAttribute(void* data, int attribute, unsigned long long) {
  const unsigned value = attribute == 2 ? 2 : 0;
  std::memcpy(data, &value, sizeof value);
  return kCudaSuccess;
}

// What programs ask CUDA's driver about a NIC's registers and about dma-bufs.
//
// A GPU rings doorbells by stores to a page of registers, which CUDA maps for it as I/O memory.
// The soft NIC's registers are memory, and CUDA refuses to map memory as that: for these pages, and
// no others, it is asked to map memory. And what a dma-buf is of, nobody can tell by looking at it:
// it is noted when it is made.
//
// CUDA's runtime, which mostly is a part of the program, finds the driver's functions by dlsym and
// cuGetProcAddress; some programs link them.
#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

#include "backends/softnic/uverbs/cuda_names.h"
#include "backends/softnic/uverbs/gpus.h"
#include "backends/softnic/uverbs/preload/libc.h"
#include "backends/softnic/uverbs/preload/loader.h"
#include "backends/softnic/uverbs/preload/tail_call.h"

namespace {

using gdakit::softnic::uverbs::driver_function;
using gdakit::softnic::uverbs::gpu_memory_at;
using gdakit::softnic::uverbs::loader_function;
using gdakit::softnic::uverbs::note_dma_buf;
using gdakit::softnic::uverbs::Shim;
namespace cuda = gdakit::softnic::uverbs::cuda;

using Dlsym = void*(void*, const char*);

Dlsym* libc_dlsym() {
  static auto* const found = loader_function<Dlsym>("dlsym");
  return found;
}

// A function of the driver, and the one that stands before it.
struct Hook {
  std::string_view name;
  void* replacement = nullptr;
  std::atomic<void*> real{nullptr};
};

extern "C" cuda::MemHostRegister cuMemHostRegister_v2;
extern "C" cuda::MemGetHandle cuMemGetHandleForAddressRange;
extern "C" cuda::GetProcAddress cuGetProcAddress;
extern "C" cuda::GetProcAddressV2 cuGetProcAddress_v2;

enum Which : std::size_t { host_register, get_handle, get_address, get_address_v2 };

std::array<Hook, 4>& hooks() {
  static std::array<Hook, 4> all{
      Hook{"cuMemHostRegister_v2", reinterpret_cast<void*>(&cuMemHostRegister_v2), {}},
      Hook{"cuMemGetHandleForAddressRange",
           reinterpret_cast<void*>(&cuMemGetHandleForAddressRange),
           {}},
      Hook{"cuGetProcAddress", reinterpret_cast<void*>(&cuGetProcAddress), {}},
      Hook{"cuGetProcAddress_v2", reinterpret_cast<void*>(&cuGetProcAddress_v2), {}}};
  return all;
}

Hook* find_hook(std::string_view name) {
  if (!name.starts_with("cu")) return nullptr;
  for (Hook& hook : hooks()) {
    if (hook.name == name) return &hook;
  }
  return nullptr;
}

// What the program gets for a function that has been found.
void* stand_before(Hook& hook, void* found) {
  if (found == nullptr || found == hook.replacement) return found;
  hook.real = found;
  return hook.replacement;
}

// The driver's own function; null where the program has no driver.
template <class Function>
Function* real(Which which) {
  Hook& hook = hooks()[which];
  if (hook.real == nullptr) {
    stand_before(hook, driver_function(hook.name.data(), libc_dlsym()));
  }
  return reinterpret_cast<Function*>(hook.real.load());
}

// By the names that cuGetProcAddress knows: those of the header, which say no version.
Hook* find_unversioned_hook(std::string_view name, int version) {
  if (name == "cuMemHostRegister") return &hooks()[host_register];
  if (name == "cuGetProcAddress") {
    return &hooks()[version < cuda::kVersionWithReason ? get_address : get_address_v2];
  }
  return find_hook(name);
}

void stand_before_found(const char* name, void** function, int version) {
  if (name == nullptr || function == nullptr) return;
  if (Hook* const hook = find_unversioned_hook(name, version)) {
    *function = stand_before(*hook, *function);
  }
}

}  // namespace

// Calls libc's from where it was called itself: what RTLD_NEXT and RTLD_DEFAULT mean depends on
// who asks.
GDAKIT_HOOK GDAKIT_WITH_TAIL_CALLS void* dlsym(void* handle, const char* name) {
  Hook* const hook = find_hook(name);
  if (hook != nullptr) return stand_before(*hook, libc_dlsym()(handle, name));
  GDAKIT_TAIL_CALL return libc_dlsym()(handle, name);
}

GDAKIT_HOOK cuda::Status cuGetProcAddress(const char* name, void** function, int version,
                                          unsigned long long flags) {
  auto* const driver = real<cuda::GetProcAddress>(get_address);
  if (driver == nullptr) return cuda::kNotFound;
  const cuda::Status status = driver(name, function, version, flags);
  if (status == cuda::kSuccess) stand_before_found(name, function, version);
  return status;
}

GDAKIT_HOOK cuda::Status cuGetProcAddress_v2(const char* name, void** function, int version,
                                             unsigned long long flags, int* reason) {
  auto* const driver = real<cuda::GetProcAddressV2>(get_address_v2);
  if (driver == nullptr) return cuda::kNotFound;
  const cuda::Status status = driver(name, function, version, flags, reason);
  if (status == cuda::kSuccess) stand_before_found(name, function, version);
  return status;
}

GDAKIT_HOOK cuda::Status cuMemHostRegister_v2(void* memory, std::size_t size, unsigned flags) {
  auto* const driver = real<cuda::MemHostRegister>(host_register);
  if (driver == nullptr) return cuda::kNotFound;
  const bool as_io = (flags & cuda::kRegisterIoMemory) != 0;
  Shim* const shim = as_io ? Shim::made() : nullptr;
  if (shim != nullptr && shim->maps_registers(memory, size)) flags &= ~cuda::kRegisterIoMemory;
  return driver(memory, size, flags);
}

GDAKIT_HOOK cuda::Status cuMemGetHandleForAddressRange(void* handle, cuda::DevicePointer pointer,
                                                       std::size_t size, int type,
                                                       unsigned long long flags) {
  auto* const driver = real<cuda::MemGetHandle>(get_handle);
  if (driver == nullptr) return cuda::kNotFound;
  const cuda::Status status = driver(handle, pointer, size, type, flags);
  if (status == cuda::kSuccess && type == cuda::kDmaBufHandle) {
    int file = -1;
    std::memcpy(&file, handle, sizeof file);
    // What is exported may end behind what is allocated, on the border of a page.
    if (const auto begin = gpu_memory_at(pointer, 1)) {
      note_dma_buf(file, {begin->address, size, begin->ordinal});
    }
  }
  return status;
}

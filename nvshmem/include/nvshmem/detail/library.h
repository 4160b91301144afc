// What libgdakit_nvshmem keeps for a process: one context, however many files and shared libraries
// were compiled with nvshmem.h.
#pragma once

#include "host_calls/host_calls.h"
#include "nvshmem/detail/constants.h"

namespace gdakit::nvshmem {

// What a file compiled by nvcc has of its own: a copy of the DeviceContext in constant memory.
struct Module {
  // Fills the copy on the current device; a cudaError_t.
  int (*fill)(const DeviceContext& context);
  Module* next = nullptr;
  bool current = false;  // has been filled with the PE's state as it is
};

// Called by constructors and destructors of the files' Modules.
void add_module(Module* module);
void remove_module(Module* module);

// Called where a program has kernels for the emulator (emulate.h): its PEs stay off the GPU, if
// there are no kernels for that.
bool expect_emulated_kernels();

// The process's PE. Ends the program with a sentence that names `call` if there is none yet.
Context& context(const char* call);
// As kernels have it now; null before init and after finalize.
const DeviceContext* device_context();

// Says on stderr that `call` failed and why, tells the other PEs, and ends the program: what calls
// without a result do.
[[noreturn]] void fail(const char* call, const Error& error);
inline void require(const char* call, const Result<void>& done) {
  if (!done) fail(call, done.error());
}
// What calls with a status return: 0, or a NVSHMEMX_ERROR_ and a sentence on stderr.
int status_of(const char* call, const Result<void>& done);
// The same. What the device has reported has been told of then, and later calls may succeed.
int status_of_device(const char* call, const Result<void>& done);

// nvshmem_global_exit: tells the other PEs and ends the program.
[[noreturn]] void host_global_exit(int status);

// nvshmem_ptr: the address of `dest` on `pe` for loads and stores, or null.
void* direct_address(const void* dest, int pe);

}  // namespace gdakit::nvshmem

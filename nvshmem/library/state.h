// What a process has of gdakit under NVSHMEM's names: one context, made by the first init, gone
// with the last finalize. The one place of the project with global state.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <vector>

#include "nvshmem/detail/library.h"

namespace gdakit::nvshmem {

struct Library {
  std::mutex mutex;  // of the modules
  Module* modules = nullptr;
  bool emulates = false;  // some kernels were compiled for the emulator
  std::unique_ptr<Context> context;
  pid_t process = 0;  // the one that called init: a child by fork has its memory and is no PE
  int inits = 0;
  std::atomic<bool> abandoned = false;  // the program ends; the context stays as it is
  bool left_at_exit = false;            // the program's end has ended the context
  DeviceContext device_context{};
  std::map<void*, void*> aligned;  // what nvshmem_align returned -> what the heap gave
  std::vector<void*> buffers;      // registered ones
};

Library& library();

// Makes the context, or counts one more init.
Result<void> start(unsigned int flags, const nvshmemx_init_attr_t* attributes);

// Whether the program ends, so that nothing is there to be released and nobody to wait for.
inline bool is_ending() { return library().left_at_exit || library().abandoned; }

// The others learn why this PE ends, which waits for none of them and destroys nothing: other
// threads may be in calls.
void abandon_job(const std::string& why);

// The program's end leaves the job from now on, or tells the others that it failed.
void watch_exit();

// Tells all files what kernels need to know: after everything that changes it.
void refresh();

}  // namespace gdakit::nvshmem

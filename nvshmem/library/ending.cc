// How a PE under NVSHMEM's names ends without nvshmem_finalize.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unistd.h>

#include "gdakit.h"
#include "nvshmem/detail/mpi_by_name.h"
#include "nvshmem/library/state.h"

namespace gdakit::nvshmem {
namespace {

bool is_pe() { return library().context != nullptr && library().process == ::getpid(); }

// Before what was registered earlier, and so while CUDA is still there.
void at_exit(int status, void*) {
  Library& all = library();
  if (!is_pe() || all.abandoned) return;
  if (status != 0) {
    return abandon_job("the program ended with status " + std::to_string(status) +
                       " before nvshmem_finalize");
  }
  if (!all.context->on_gpu()) return;
  all.context.reset();
  all.left_at_exit = true;
  leave_mpi();
}

// After all that the program has registered, because it was registered when the library was loaded.
void leave_job() {
  if (!is_pe() || library().abandoned) return;
  library().context.reset();
  leave_mpi();
}
[[maybe_unused]] const int kLeavesLast = std::atexit(leave_job);

}  // namespace

void abandon_job(const std::string& why) {
  if (!is_pe()) return;
  library().abandoned = true;
  library().context->abort(why);
}

void watch_exit() {
  static const int kRegistered = ::on_exit(at_exit, nullptr);
  static_cast<void>(kRegistered);
}

// In an emulated kernel the program's objects stay: they are in use. The first of several threads
// ends the program.
void host_global_exit(int status) {
  static std::recursive_mutex first;
  first.lock();
  std::fflush(stdout);  // the launcher may leave no time for it
  if (is_pe()) {
    library().abandoned = true;
    const std::string why = "nvshmem_global_exit(" + std::to_string(status) + ")";
    if (!library().context->end_job(status, why)) abort_by_mpi(status);
  }
  if (sim::current_thread() == nullptr) std::exit(status);
  std::fflush(nullptr);
  std::_Exit(status);
}

}  // namespace gdakit::nvshmem

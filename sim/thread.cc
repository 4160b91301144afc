#include "sim/thread.h"

namespace gdakit::sim {
namespace {

// A signal handler reads it (crash.h), which must not allocate what a thread keeps of a library
// that was loaded late: hence the model.
[[gnu::tls_model("initial-exec")]] thread_local Thread* current = nullptr;

}  // namespace

Thread* current_thread() { return current; }
void set_current_thread(Thread* thread) { current = thread; }

const char* operation_name(Operation operation) {
  switch (operation) {
    case Operation::none: return "none";
    case Operation::shuffle: return "shuffle";
    case Operation::ballot: return "ballot";
    case Operation::match_any: return "match_any";
    case Operation::sync_warp: return "sync_warp";
    case Operation::sync_block: return "sync_block";
    case Operation::active_mask: return "active_mask";
  }
  return "unknown";
}

}  // namespace gdakit::sim

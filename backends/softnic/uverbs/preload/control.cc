// What a program may ask of its soft ConnectXes that no ConnectX does (backends/mlx5/emulation.h).
#include "backends/softnic/uverbs/preload/callers.h"
#include "backends/softnic/uverbs/preload/libc.h"

namespace {

using gdakit::softnic::uverbs::CallCounts;
using gdakit::softnic::uverbs::counted_calls;
using gdakit::softnic::uverbs::Device;
using gdakit::softnic::uverbs::Shim;

}  // namespace

// The NIC that an open device belongs to, for the functions below; null if it is none. It stays as
// long as the process.
GDAKIT_HOOK void* gdakit_verbs_nic_of(int device_file) {
  Shim* const shim = Shim::made();
  return shim == nullptr ? nullptr : shim->device_behind(device_file);
}

// Between the two nothing that is posted, and no packet, has any effect.
GDAKIT_HOOK void gdakit_verbs_pause_nic(void* nic) { static_cast<Device*>(nic)->nic().pause(); }
GDAKIT_HOOK void gdakit_verbs_resume_nic(void* nic) { static_cast<Device*>(nic)->nic().resume(); }

// From now on one more whose threads help this NIC while they wait (gdakit_verbs_help_nics), or one
// less.
GDAKIT_HOOK void gdakit_verbs_expect_help(void* nic, bool begins) {
  static_cast<Device*>(nic)->expect_help(begins);
}

// One step of the NICs of this process on the calling thread, which waits for one of them: what it
// waits for may be for the NIC of a PE that is another thread. Whether there was something to do.
GDAKIT_HOOK bool gdakit_verbs_help_nics() {
  Shim* const shim = Shim::made();
  return shim != nullptr && shim->help_nics();
}

// How many calls on devices came from libibverbs and libmlx5, and how many from elsewhere.
GDAKIT_HOOK void gdakit_verbs_count_calls(std::uint64_t* by_libraries, std::uint64_t* by_others) {
  const CallCounts counts = counted_calls();
  *by_libraries = counts.by_libraries;
  *by_others = counts.by_others;
}

// Other processes of this host.
#pragma once

#include <sys/types.h>

namespace gdakit {

// Whether the process still runs. One that has ended and whose parent has not looked yet does not.
bool process_runs(pid_t pid);

}  // namespace gdakit

// ^C in a long search: the first one asks it to end with what it has, the second one kills it. What
// has files to remove is asked by other signals, too.
#pragma once

#include <atomic>

namespace gdakit::tools {

// The exit status of a command that SIGINT has ended, as a shell gives it.
inline constexpr int kInterrupted = 130;

// True once SIGINT came. Where it is ignored, as in the background of a script, it stays so.
const std::atomic<bool>& interrupt_request();

// The same, and true, too, once SIGTERM, SIGHUP or SIGQUIT came, which kill nothing from now on.
const std::atomic<bool>& interrupt_or_end_request();
// Which of those came last; 0: none.
int end_request();

}  // namespace gdakit::tools

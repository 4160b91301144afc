// ^C in a long search: the first one asks it to end with what it has, the second one kills it.
#pragma once

#include <atomic>

namespace gdakit::tools {

// The exit status of a command that SIGINT has ended, as a shell gives it.
inline constexpr int kInterrupted = 130;

// True once SIGINT came. Where it is ignored, as in the background of a script, it stays so.
const std::atomic<bool>& interrupt_request();

}  // namespace gdakit::tools

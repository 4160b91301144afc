// Times in words.
#pragma once

#include <chrono>
#include <string>

namespace gdakit {

// "60 s", "0.25 s".
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace gdakit

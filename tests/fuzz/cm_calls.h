// Commands of rdma_cm, and messages to its connection manager.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// One after the other, by tests/uverbs/hostile_cm.h: the input is numbers of 16 bits, which say
// what comes next and with what, for as long as there are some. Answers are errno values, and a
// manager that has gone listens at no port.
std::string play_cm_calls(Input input);

}  // namespace gdakit::fuzz

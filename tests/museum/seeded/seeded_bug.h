// Which of the seeded bugs is switched on. seed.py includes this into the headers that it copies.
#pragma once

#include <cstdint>

namespace gdakit::seeded {

inline std::uint32_t chosen = 0;  // a number from 1 on; 0: none

inline bool is(std::uint32_t number) { return chosen == number; }

}  // namespace gdakit::seeded

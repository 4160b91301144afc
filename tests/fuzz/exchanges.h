// What the PEs of a job give each other while they set up: values, cards, paths, descriptors.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// A PE whose peers give what it gives itself, but for changes: sizes, bytes, nothing. It opens a
// backend, a heap and queues; each succeeds or says why not.
std::string play_cards(Input input);
std::vector<Seed> card_seeds();

// Messages with and without descriptors for the socket of a HandleExchange. What is taken can be
// mapped and touched.
std::string play_handles(Input input);
std::vector<Seed> handle_seeds();

}  // namespace gdakit::fuzz

// Texts that users, launchers and reports bring.
#pragma once

#include "tests/fuzz/target.h"

namespace gdakit::fuzz {

// "NAME=value", one a line, as the environment has them. What a row takes it writes so that it
// takes it again, as the same value.
std::string play_options(Input input);
std::vector<Seed> options_seeds();

// GDAKIT_NIC_FAULTS, GDAKIT_NIC_ADDRESS, and the line that ends a job of `gdakit run`.
std::string play_network_texts(Input input);
std::vector<Seed> network_text_seeds();

// The variables of gdakit run, torchrun and Slurm, one a line. A PE of a job of several knows where
// PE 0 is.
std::string play_launch_variables(Input input);
std::vector<Seed> launch_variable_seeds();

// Replay tokens, as they are and with a right check sum.
std::string play_tokens(Input input);
std::vector<Seed> token_seeds();

// What JsonWriter makes of any text is one text of JSON in UTF-8.
std::string play_json(Input input);
std::vector<Seed> json_seeds();

// The bytes of a unique id. One that is taken names a host and a port.
std::string play_unique_id(Input input);
std::vector<Seed> unique_id_seeds();

}  // namespace gdakit::fuzz

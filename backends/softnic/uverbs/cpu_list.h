// Sets of CPUs as /sys writes them.
//
//   list   0-1,4
//   mask   13            words of 32 bits, the last CPUs' first, with commas between
#pragma once

#include <string>

namespace gdakit::softnic::uverbs {

// The list of this host's CPUs that are online; "0" where the system does not tell.
std::string online_cpus();

// The mask of a list. A list that is none is read up to where it is wrong.
std::string cpu_mask(const std::string& list);

}  // namespace gdakit::softnic::uverbs

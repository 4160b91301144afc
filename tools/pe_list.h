// Some PEs as the beginning of a sentence.
#pragma once

#include <string>
#include <vector>

namespace gdakit::tools {

// "PE 3 has", "PEs 1, 3 have".
inline std::string pes_that_have(const std::vector<int>& pes) {
  std::string text = pes.size() == 1 ? "PE " : "PEs ";
  for (std::size_t i = 0; i < pes.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(pes[i]);
  return text + (pes.size() == 1 ? " has" : " have");
}

}  // namespace gdakit::tools

// A browser for tests: Chromium without a window, with a time limit.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gdakit::sim {

bool browser_is_installed();

struct Visit {
  bool ended = false;  // by itself, within the time limit
  std::vector<std::string> said;
  std::vector<std::string> errors;  // uncaught ones, and what went to console.error
};

// Opens the page, runs `script` after the page's own, and returns what it said:
//
//   say(text)    one line for Visit::said
//   press(key)   a key, where the focus is
//   current()    the number of the selected event, or "none"
//   count(css)   how many elements there are
//   text(css)    the text of the first such element
//
// Ends every process of the browser. browser_is_installed() must hold.
Visit visit(const std::string& page, const std::string& script,
            std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace gdakit::sim

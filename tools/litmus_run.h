// `gdakit litmus` behind its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace gdakit::tools {

// One of the files uses what the memory model here does not have (proxies, quorums).
inline constexpr int kUnsupportedLitmus = 3;

// As typed; what was not typed is empty.
struct LitmusArguments {
  std::vector<std::string> files;
  std::string mode = "exhaustive";
  std::optional<std::uint64_t> runs;
  std::uint64_t seed = 1;
  std::uint32_t bound = 1;
  std::string expect;  // a file of verdicts; "": verdicts.csv beside each test, if there is one
  std::optional<std::string> replay;
  bool strict = false;
  bool json = false;
};

// Explores the tests, prints, and returns the exit status: kFailed if something forbidden was seen
// (or, if strict, something was missed), else kBadUsage if a file could not be read or is no litmus
// test, else kUnsupportedLitmus, else 0.
int run_litmus(const LitmusArguments& arguments, std::ostream& out, std::ostream& errors);

}  // namespace gdakit::tools

// The frame of a bench that prints a report: command line, the sentence where there is no GPU and
// it needs one, figures.
//
//   int main(int argc, char** argv) {
//     Program program("rate_bench", "How many puts a second does one soft NIC take?");
//     program.add_number("--blocks", &blocks, "Blocks that post");
//     return program.main(argc, argv, run);
//   }
//
// Exit status: 0, 1 if the measurement failed, 2 for wrong arguments, 77 if a GPU is missing. Every
// bench has --json FILE, --perf-lines (perf_lines.h; also by NVSHMEM_MACHINE_READABLE_OUTPUT=1),
// --quick (few repetitions, for a test) and --help.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/report.h"

namespace gdakit::bench {

inline constexpr int kSkipped = 77;

enum class Needs { nothing, gpu };

class Program {
 public:
  Program(const char* name, const char* question, Needs needs = Needs::gpu);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What stands in the place when main() begins is the default.
  void add_number(const char* option, std::uint64_t* place, const char* sentence);
  void add_flag(const char* option, bool* place, const char* sentence);
  // Lists, separated by commas: what is given takes the default's place. A word that is not among
  // `allowed` is a wrong argument.
  void add_numbers(const char* option, std::vector<std::uint64_t>* place, const char* sentence);
  void add_choices(const char* option, std::vector<std::string>* place,
                   const std::vector<std::string>& allowed, const char* sentence);

  bool quick() const;

  // Runs the bench and prints its report.
  int main(int argc, char** argv, const std::function<Result<void>(Report&)>& run);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gdakit::bench

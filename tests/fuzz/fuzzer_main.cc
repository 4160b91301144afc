// All fuzz targets for libFuzzer, in one program:
//
//   gdakit_fuzzer -target=options -max_total_time=600 -fork=4 CORPUS
//   gdakit_fuzzer -target=options -write_seeds=CORPUS      writes the target's seeds, and ends
//   gdakit_fuzzer -list                                    the names of all targets
//
// libFuzzer says of these three options that it does not know them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/target.h"
#include "tests/softnic/engine_fuzz.h"

namespace gdakit::fuzz {
namespace {

std::string play_engine(Input input) { return softnic::test::fuzz_one(input.data(), input.size()); }

constexpr Target kEngine{"engine", play_engine, random_seeds, 0};

const Target* chosen = nullptr;

// What stands behind "-name=" in the arguments; empty: nothing.
std::string_view argument(int count, char** arguments, std::string_view name) {
  const std::string begin = "-" + std::string(name) + "=";
  for (int i = 1; i < count; ++i) {
    const std::string_view one = arguments[i];
    if (one.starts_with(begin)) return one.substr(begin.size());
  }
  return {};
}

void list_targets() {
  for (const Target& target : targets()) std::puts(target.name);
  std::puts(kEngine.name);
}

void write_seeds(const std::string& folder) {
  int number = 0;
  for (const Seed& seed : chosen->seeds()) {
    std::ofstream file(folder + "/seed-" + std::to_string(number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), std::streamsize(seed.size()));
    if (!file) std::exit(1);
  }
}

}  // namespace
}  // namespace gdakit::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  using namespace gdakit::fuzz;
  for (int i = 1; i < *count; ++i) {
    if (std::string_view((*arguments)[i]) != "-list") continue;
    list_targets();
    std::exit(0);
  }
  const std::string_view name = argument(*count, *arguments, "target");
  chosen = name == kEngine.name ? &kEngine : find_target(name);
  if (chosen == nullptr) {
    std::fprintf(stderr, "no target is named \"%s\"; -target= is one of:\n",
                 std::string(name).c_str());
    list_targets();
    std::exit(1);
  }
  const std::string_view folder = argument(*count, *arguments, "write_seeds");
  if (folder.empty()) return 0;
  write_seeds(std::string(folder));
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = gdakit::fuzz::chosen->play({data, size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s: %s\n", gdakit::fuzz::chosen->name, wrong.c_str());
    std::abort();
  }
  return 0;
}

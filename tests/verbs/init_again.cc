// Opens and ends a job of two PEs, threads of this process, again and again, whether that succeeds
// or fails, and prints what it has left behind:
//
//   $ init_again
//   0 descriptors, 0 threads
//
// What the first times load for good is not counted. fail_test.py runs it on broken nodes.
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "gdakit.h"

namespace {

constexpr int kUncounted = 2;
constexpr int kTimes = 3;

long entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

gdakit::Result<void> put_to_the_other(gdakit::Context& context) {
  const auto words = context.allocate<std::uint64_t>(1);
  if (!words) return words.error();
  const auto put = [at = *words](auto& pe) {
    pe.put_value(at, std::uint64_t{1}, 1 - pe.my_pe());
    pe.quiet();
  };
  if (auto ran = context.launch(put, {.blocks = 1, .threads = 1}); !ran) return ran;
  return context.barrier();
}

}  // namespace

int main() {
  const gdakit::Result<gdakit::Options> options = gdakit::Options::from_environment();
  if (!options) {
    std::cerr << options.error().message() << '\n';
    return 2;
  }
  long descriptors = 0, threads = 0;
  for (int i = 0; i < kUncounted + kTimes; ++i) {
    if (i == kUncounted) {
      descriptors = entries_of("/proc/self/fd");
      threads = entries_of("/proc/self/task");
    }
    // Whether it succeeds is for others to say.
    static_cast<void>(gdakit::run_in_process(2, *options, put_to_the_other));
  }
  std::cout << entries_of("/proc/self/fd") - descriptors << " descriptors, "
            << entries_of("/proc/self/task") - threads << " threads\n";
}

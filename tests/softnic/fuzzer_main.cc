// The fuzz target for libFuzzer.
#include <cstdio>
#include <cstdlib>

#include "tests/softnic/engine_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = gdakit::softnic::test::fuzz_one(data, size);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}

// A job whose kernel never ends: PE 0 waits for a word that PE 1 does not write, and then loops.
// PE 1 takes no part, and so says nothing of PE 0's end. Run by `gdakit run`.
#include <cstdio>
#include <unistd.h>

#include "gdakit.h"

namespace {

struct StallAndLoop {
  const std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until(word, gdakit::Compare::ne, 0);
    for (;;) pe.machine().spin(gdakit::Site::user);
  }
};

int fail(const gdakit::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main() {
  const auto context = gdakit::init();
  if (!context) return fail(context.error());
  gdakit::Context& c = **context;
  const auto word = c.allocate<std::uint64_t>(1, "flag");
  if (!word) return fail(word.error());
  while (c.my_pe() == 1) ::pause();
  const auto done = c.launch(StallAndLoop{*word}, {.blocks = 1, .threads = 1});
  return done ? 0 : fail(done.error());
}

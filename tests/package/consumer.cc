// The smallest user of gdakit: two PEs of one process, a kernel that shifts a number to the right.
#include <cstdio>
#include <gdakit/gdakit.h>

// C++20 makes an != where there is an ==; C++17 does not.
static_assert(gdakit::kTeamWorld != gdakit::kTeamInvalid);
static_assert(gdakit::Status{gdakit::StatusCode::stalled} != gdakit::Status{});
static_assert(gdakit::Half(1.0f) != gdakit::Half(2.0f));

struct Shift {
  int* destination;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(destination, pe.my_pe(), (pe.my_pe() + 1) % pe.n_pes());
    pe.barrier_all();
  }
};

static gdakit::Result<void> shift(gdakit::Context& context) {
  auto destination = context.allocate<int>(1);
  if (!destination) return destination.error();
  auto done = context.launch(Shift{*destination}, {1, 1});
  if (!done) return done;
  if (**destination == 1 - context.my_pe()) return {};
  return gdakit::Error(gdakit::Code::internal, "the wrong number arrived");
}

int main() {
  gdakit::Options options;
  options.symmetric_size = 1 << 20;
  const gdakit::Result<void> done = gdakit::run_in_process(2, options, shift);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}

// Every PE puts its number into the memory of the PE to its right.
//
//   gdakit run -n 4 build/cpu/examples/ring_shift
//
// Compiled by nvcc it runs on a GPU if there is one; else on the CPU emulator.
#include <cstdio>

#include "gdakit.h"

struct RingShift {
  int* destination;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(destination, pe.my_pe(), (pe.my_pe() + 1) % pe.n_pes());
    pe.barrier_all();
  }
};

int main() {
  auto context = gdakit::init();
  if (!context) return std::fprintf(stderr, "%s\n", context.error().message().c_str()), 1;
  gdakit::Context& pe = **context;
  auto destination = pe.allocate<int>(1);
  if (!destination) return std::fprintf(stderr, "%s\n", destination.error().message().c_str()), 1;
  auto done = pe.launch(RingShift{*destination}, {.blocks = 1, .threads = 1});
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message().c_str()), 1;
  int received = -1;  // the heap may lie on a GPU, out of the host's reach
  auto copied = pe.download(&received, *destination, 1);
  if (!copied) return std::fprintf(stderr, "%s\n", copied.error().message().c_str()), 1;
  const int expected = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
  std::printf("PE %d of %d received %d\n", pe.my_pe(), pe.n_pes(), received);
  return received == expected ? 0 : 1;
}

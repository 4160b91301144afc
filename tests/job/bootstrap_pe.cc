// A PE for the tests: joins its job and gathers the ranks. With an argument, that PE then dies in
// the middle, and the others print what their barrier says.
#include <cstdlib>
#include <iostream>
#include <signal.h>

#include "core/host/bootstrap/bootstrap_open.h"

int main(int argc, char** argv) {
  const gdakit::Result<gdakit::Options> options = gdakit::Options::from_environment();
  if (!options) {
    std::cerr << options.error().message() << '\n';
    return 2;
  }
  const auto bootstrap = gdakit::open_bootstrap(*options);
  if (!bootstrap) {
    std::cerr << bootstrap.error().message() << '\n';
    return 3;
  }
  const auto ranks = gdakit::allgather_value(**bootstrap, (*bootstrap)->rank());
  if (!ranks) {
    std::cerr << ranks.error().message() << '\n';
    return 4;
  }
  for (const int rank : *ranks) std::cout << rank << ' ';
  std::cout << '\n' << std::flush;
  if (argc > 1 && std::atoi(argv[1]) == (*bootstrap)->rank()) ::raise(SIGKILL);
  const gdakit::Result<void> passed = (*bootstrap)->barrier();
  if (!passed) std::cerr << passed.error().message() << '\n';
  return passed ? 0 : 5;
}

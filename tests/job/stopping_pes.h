// What two PEs share of which one stops the other: `PROGRAM STOPPED SECONDS`, by `gdakit run -n 2`.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "gdakit.h"
#include "tests/job/is_stopped.h"

namespace gdakit::testing_job {

// Tells the peer this PE's process, at *process there.
struct Greet {
  std::uint64_t* process;
  std::uint64_t mine;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(process, mine, 1 - pe.my_pe());
    pe.barrier_all();
  }
};

// main() of such a program: run(context, stopped, seconds).
template <class Run>
int run_stopping_pe(int argc, char** argv, Run&& run) {
  if (argc != 3) return 2;
  const auto context = gdakit::init();
  const Result<void> done = context ? run(**context, std::atoi(argv[1]), std::atof(argv[2]))
                                    : Result<void>(context.error());
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}

}  // namespace gdakit::testing_job

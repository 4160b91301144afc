// A PE that meets the others, and no more. With an argument, that PE has a child by fork, which may
// launch no kernel, and returns from main while the job goes on. Run by `gdakit run`.
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "gdakit.h"

struct Nothing {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe&) const {}
};

int main(int argc, char** argv) {
  const auto context = gdakit::init();
  if (!context) {
    std::fprintf(stderr, "%s\n", context.error().message().c_str());
    return 1;
  }
  if (argc > 1 && std::atoi(argv[1]) == (*context)->my_pe()) {
    const pid_t child = ::fork();
    if (child == 0) return (*context)->launch(Nothing{}, {1, 1}) ? 4 : 0;
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) return 2;
  }
  const gdakit::Result<void> met = (*context)->barrier();
  if (!met) std::fprintf(stderr, "%s\n", met.error().message().c_str());
  return met ? 0 : 3;
}

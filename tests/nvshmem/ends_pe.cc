// How a program's end, and that of a child by fork, goes with finalize. Run by `gdakit run` as
//
//   nvshmem_ends_pe atexit        finalize was registered before init
//   nvshmem_ends_pe fork STATUS   a child of PE 1 exits with STATUS, and the job goes on
//   nvshmem_ends_pe atexit_failed the same, and PE 0 exits with status 3 at once
//   nvshmem_ends_pe thread        a thread of PE 0 exits with status 3 while another one is in a
//   call
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "nvshmem/nvshmem.h"

namespace {

int pass_round() {
  const int me = nvshmem_my_pe();
  const int n = nvshmem_n_pes();
  auto* const word = static_cast<int*>(nvshmem_calloc(1, sizeof(int)));
  if (word == nullptr) return 1;
  nvshmem_int_p(word, me + 5, (me + 1) % n);
  nvshmem_barrier_all();
  return *word == (me + n - 1) % n + 5 ? 0 : 1;
}

int child_ends(int status) {
  const pid_t child = fork();
  if (child == 0) std::exit(status);
  int ended = 0;
  return waitpid(child, &ended, 0) == child && WEXITSTATUS(ended) == status ? 0 : 1;
}

int wait_to_be_ended() {
  std::this_thread::sleep_for(std::chrono::seconds(20));
  return 1;
}

int exit_early() {
  nvshmem_init();
  return nvshmem_my_pe() == 0 ? 3 : wait_to_be_ended();
}

int thread_ends() {
  nvshmem_init();
  if (nvshmem_my_pe() != 0) return wait_to_be_ended();
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::exit(3);
  }).detach();
  nvshmem_barrier_all();
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "atexit") {
    std::atexit(nvshmem_finalize);
    nvshmem_init();
    return pass_round();
  }
  if (what == "atexit_failed") {
    std::atexit(nvshmem_finalize);
    return exit_early();
  }
  if (what == "thread") return thread_ends();
  if (what != "fork" || count != 3) return 2;
  nvshmem_init();
  int failed = nvshmem_my_pe() == 1 ? child_ends(std::atoi(arguments[2])) : 0;
  failed += pass_round();
  nvshmem_finalize();
  return failed;
}

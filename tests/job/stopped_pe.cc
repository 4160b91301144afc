// A PE whose peer's process is stopped far longer than GDAKIT_NIC_TIMEOUT, and goes on. Run by
// `gdakit run -n 2`, with such a time-out.
#include <chrono>
#include <cstdio>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "gdakit.h"
#include "tests/job/is_stopped.h"

namespace {

using gdakit::Context;
using gdakit::Result;
using gdakit::testing_job::is_stopped;

constexpr int kWords = 1000;

// PE 0 tells PE 1 who it is.
struct Greet {
  std::int64_t* process;
  std::int64_t mine;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) pe.put_value(process, mine, 1);
    pe.barrier_all();
  }
};

// Puts, a get and an atomic to a peer that does not answer yet.
struct Ask {
  std::uint64_t* to;
  std::uint64_t* from;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) return;
    pe.put_nbi(to, from, kWords, 0);
    pe.atomic_add(from, std::uint64_t{5}, 0);
    pe.quiet();
  }
};

Result<void> run(Context& context) {
  auto process = context.allocate<std::int64_t>(1);
  auto to = context.allocate<std::uint64_t>(kWords);
  auto from = context.allocate<std::uint64_t>(kWords);
  if (!process || !to || !from) return gdakit::Error(gdakit::Code::internal, "allocate");
  const gdakit::LaunchShape one{.blocks = 1, .threads = 1};
  if (auto met = context.launch(Greet{*process, ::getpid()}, one); !met) return met;
  std::thread others_end;
  if (context.my_pe() == 1) {
    const auto peer = static_cast<pid_t>(**process);
    for (int i = 0; i < kWords; ++i) (*from)[i] = static_cast<std::uint64_t>(i);
    ::kill(peer, SIGSTOP);
    while (!is_stopped(peer)) ::usleep(1000);
    others_end = std::thread([peer] {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      ::kill(peer, SIGCONT);
    });
  }
  const Result<void> asked = context.launch(Ask{*to, *from}, one);
  if (others_end.joinable()) others_end.join();
  if (!asked) return asked;
  if (auto met = context.barrier(); !met) return met;
  if (context.my_pe() != 0) return {};
  for (int i = 0; i < kWords; ++i) {
    if ((*to)[i] != static_cast<std::uint64_t>(i)) {
      return gdakit::Error(gdakit::Code::internal, "word " + std::to_string(i));
    }
  }
  return (*from)[0] == 5 ? Result<void>() : gdakit::Error(gdakit::Code::internal, "the atomic");
}

}  // namespace

int main() {
  const auto context = gdakit::init();
  const Result<void> done = context ? run(**context) : Result<void>(context.error());
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}

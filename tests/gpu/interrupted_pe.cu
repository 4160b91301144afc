// A PE whose peer's process is stopped for longer than GDAKIT_WATCHDOG, with kernels on a GPU,
// which run on: `gdakit run -n 2 interrupted_pe STOPPED SECONDS` stops the process of PE STOPPED
// for SECONDS. Its kernel waits for its peer meanwhile, and one of its peer for that kernel.
#include <chrono>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "tests/job/stopping_pes.h"

namespace {

using gdakit::Compare;
using gdakit::Context;
using gdakit::Result;
using gdakit::SignalOp;
using gdakit::testing_job::Greet;
using gdakit::testing_job::is_stopped;
using Word = std::uint64_t;

// Words of each PE, which its peer writes.
struct Words {
  Word process;
  Word waits;  // the kernel of the PE that is to be stopped does
  Word question;
  Word answer;
};

// By the PE that is stopped.
struct Answer {
  Words* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int peer = 1 - pe.my_pe();
    pe.signal(&words->waits, 1, SignalOp::set, peer);
    if (!pe.wait_until(&words->question, Compare::ne, Word{0}).ok()) return;
    pe.signal(&words->answer, 1, SignalOp::set, peer);
    pe.quiet();
  }
};

// By its peer, before it stops the other one and then.
struct Hear {
  Words* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until(&words->waits, Compare::ne, Word{0});
  }
};
struct Ask {
  Words* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.signal(&words->question, 1, SignalOp::set, 1 - pe.my_pe());
    pe.wait_until(&words->answer, Compare::ne, Word{0});
  }
};

Result<void> stop_and_ask(Context& context, Words* words, double seconds) {
  const gdakit::LaunchShape one{.blocks = 1, .threads = 1};
  if (auto heard = context.launch(Hear{words}, one); !heard) return heard;
  Words seen{};
  if (auto copied = context.download(&seen, words, 1); !copied) return copied;
  const auto peer = static_cast<pid_t>(seen.process);
  ::kill(peer, SIGSTOP);
  while (!is_stopped(peer)) ::usleep(1000);
  std::thread goes_on([peer, seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::kill(peer, SIGCONT);
  });
  const Result<void> asked = context.launch(Ask{words}, one);
  goes_on.join();
  return asked;
}

Result<void> run(Context& context, int stopped, double seconds) {
  auto words = context.allocate<Words>(1, "words");
  if (!words) return words.error();
  const gdakit::LaunchShape one{.blocks = 1, .threads = 1};
  const auto me = static_cast<Word>(::getpid());
  if (auto met = context.launch(Greet{&(*words)->process, me}, one); !met) return met;
  return context.my_pe() == stopped ? context.launch(Answer{*words}, one)
                                    : stop_and_ask(context, *words, seconds);
}

}  // namespace

int main(int argc, char** argv) { return gdakit::testing_job::run_stopping_pe(argc, argv, run); }

// A PE whose peer's process is stopped far longer than GDAKIT_WATCHDOG: `gdakit run -n 2 waiting_pe
// STOPPED SECONDS` stops the process of PE STOPPED for SECONDS while both PEs wait for each other.
// The word that the stopped PE waits for comes some time after it goes on.
#include <atomic>
#include <chrono>
#include <signal.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "tests/job/stopping_pes.h"

namespace {

using gdakit::Context;
using gdakit::Result;
using gdakit::testing_job::Greet;
using gdakit::testing_job::is_stopped;
using Word = std::uint64_t;

// Words of each PE, which its peer writes.
struct Words {
  Word process;
  Word first;
  Word second;
};

// By the PE that is stopped.
struct Answer {
  Words* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int peer = 1 - pe.my_pe();
    pe.signal(&words->first, 1, gdakit::SignalOp::set, peer);
    if (!pe.wait_until(&words->first, gdakit::Compare::ne, Word{0}).ok()) return;
    pe.signal(&words->second, 1, gdakit::SignalOp::set, peer);
  }
};

// By its peer: block 0 waits for what the PE sends that is stopped, block 1 makes it wait.
struct Ask {
  Words* words;
  const std::atomic<bool>* goes_on;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().block_index() == 0) {
      pe.wait_until(&words->second, gdakit::Compare::ne, Word{0});
      return;
    }
    while (!goes_on->load()) pe.machine().spin(gdakit::Site::user);
    pe.signal(&words->first, 1, gdakit::SignalOp::set, 1 - pe.my_pe());
  }
};

// Stops the peer once its kernel waits, and has the kernel of this PE go on later than the peer.
void stop(pid_t peer, const Word* peer_waits, double seconds, std::atomic<bool>* goes_on) {
  while (__atomic_load_n(peer_waits, __ATOMIC_ACQUIRE) == 0) ::usleep(1000);
  ::kill(peer, SIGSTOP);
  while (!is_stopped(peer)) ::usleep(1000);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  ::kill(peer, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  goes_on->store(true);
}

Result<void> run(Context& context, int stopped, double seconds) {
  auto words = context.allocate<Words>(1, "words");
  if (!words) return words.error();
  const gdakit::LaunchShape one{.blocks = 1, .threads = 1};
  const auto me = static_cast<Word>(::getpid());
  if (auto met = context.launch(Greet{&(*words)->process, me}, one); !met) return met;
  if (context.my_pe() == stopped) return context.launch(Answer{*words}, one);
  std::atomic<bool> goes_on = false;
  std::thread stopper(stop, static_cast<pid_t>((*words)->process), &(*words)->first, seconds,
                      &goes_on);
  const Result<void> asked = context.launch(Ask{*words, &goes_on}, {.blocks = 2, .threads = 1});
  stopper.join();
  return asked;
}

}  // namespace

int main(int argc, char** argv) { return gdakit::testing_job::run_stopping_pe(argc, argv, run); }

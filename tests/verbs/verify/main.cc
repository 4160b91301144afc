// A program of verbs that compares what arrives, byte for byte, with what was sent. It links
// libibverbs alone and knows nothing of gdakit:
//
//   gdakit verbs -- verbs_verify [--transport rc|xrc|uc|ud] [--queues N] [--depth N] [--rounds N]
//       [--longest BYTES] [--mtu BYTES] [--seed N] [--events] [--shared] [--late] [--threads]
//       [--device NAME] [--gid INDEX]
//
// Two ends, processes or threads, send each other messages of every kind of a transport at once,
// of many lengths, alignments and pieces, from several queue pairs. The last line is the count of
// what was compared. The exit status is 0 if all was right, 1 if not, and 2 for wrong options.
#include <array>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "tests/verbs/verify/round.h"

namespace gdakit::verify {
namespace {

void run_end(const Options& options, int side, UniqueFileDescriptor socket) {
  const Meeting meeting(std::move(socket));
  End end(options, meeting);
  Verified sum;
  std::uint64_t counted = 0;
  for (int number = 0; number < options.rounds; ++number) {
    Round round(end, side, number);
    const Verified verified = round.run(meeting, counted);
    counted += round.counts();
    sum.messages += verified.messages;
    sum.bytes += verified.bytes;
  }
  const auto others = meeting.swap(counted);
  if (end.counter().word(0, 0) != others) give_up("the counter is not what was added to it");
  std::printf("end %d: sent %lu messages, and compared %lu bytes\n", side,
              static_cast<unsigned long>(sum.messages), static_cast<unsigned long>(sum.bytes));
  std::fflush(stdout);
}

int run(const Options& options) {
  auto sockets = Meeting::make_sockets();
  if (options.threads) {
    std::thread other([&] { run_end(options, 1, std::move(sockets[1])); });
    run_end(options, 0, std::move(sockets[0]));
    other.join();
    return 0;
  }
  const pid_t child = ::fork();
  if (child < 0) give_up("fork failed");
  const int side = child == 0 ? 1 : 0;
  sockets[1 - side].reset();
  run_end(options, side, std::move(sockets[side]));
  if (child == 0) return 0;
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) give_up("the other end failed");
  return 0;
}

}  // namespace
}  // namespace gdakit::verify

int main(int count, char** words) {
  return gdakit::verify::run(gdakit::verify::read_options(count, words));
}

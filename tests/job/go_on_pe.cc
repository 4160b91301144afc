// One PE of a job that goes on without its last PE, which is killed: `go_on_pe`, with
// GDAKIT_PEER_LOSS=go-on. What the others can do before they acknowledge the loss, and after.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gdakit.h"

namespace {

using namespace gdakit;

struct Objects {
  std::uint64_t* waiting;  // at the last PE: how many others wait
  std::uint64_t* never;    // that nobody writes
  std::uint64_t* signal;
  std::uint64_t* data;
  std::uint64_t* sum;
  Status* status;
};

struct WaitForEver {
  Objects objects;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.atomic_add(objects.waiting, 1, pe.n_pes() - 1);
    *objects.status = pe.wait_until(objects.never, Compare::ne, 0);
  }
};

// The last PE's: all others wait.
struct AwaitTheOthers {
  Objects objects;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until(objects.waiting, Compare::eq, static_cast<std::uint64_t>(pe.n_pes() - 1));
  }
};

// With the others, whose team this is.
struct Exchange {
  Objects objects;
  Team team;
  std::uint64_t number;  // of the exchange, from 1
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int others = pe.team(team).n_pes();
    const int right = (pe.my_pe() + 1) % others;
    *objects.data = static_cast<std::uint64_t>(pe.my_pe()) + 1;
    pe.put_signal_nbi(objects.data + 1, objects.data, 1, objects.signal, 1, SignalOp::add, right);
    *objects.status = pe.wait_until(objects.signal, Compare::ge, number);
    const Status reduced = pe.team(team).reduce(objects.sum, objects.data, 1, Sum{});
    if (!reduced) *objects.status = reduced;
  }
};

struct MeetAll {
  Objects objects;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    *objects.status = pe.sync_all();
  }
};

// Fails the PE.
void require(bool holds, const char* what, const Error* error = nullptr) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s%s%s\n", what, error == nullptr ? "" : ": ",
               error == nullptr ? "" : error->message().c_str());
  std::_Exit(1);
}
template <class T>
void require(const Result<T>& result, const char* what) {
  require(static_cast<bool>(result), what, result ? nullptr : &result.error());
}

class Survivor {
 public:
  explicit Survivor(Context& context) : context_(context) {
    const auto words = context.allocate<std::uint64_t>(6);
    require(words, "allocate");
    const auto status = context.allocate<Status>(1);
    require(status, "allocate");
    std::uint64_t* const w = *words;
    objects_ = {w, w + 1, w + 2, w + 3, w + 5, *status};
    const Result<Team> team = context.split_strided(kTeamWorld, 0, 1, context.n_pes() - 1);
    require(team, "split_strided");
    team_ = *team;
    require(context.barrier(), "barrier");
  }

  void be_killed() {
    require(launch(AwaitTheOthers{objects_}), "the others wait");
    ::raise(SIGKILL);
  }

  void run() {
    const int last = context_.n_pes() - 1;
    const Result<void> waited = launch(WaitForEver{objects_});
    require(!waited && waited.error().code() == Code::peer_lost, "the launch says who is lost");
    std::printf("%s\n", waited.error().message().c_str());
    require(status() == Status{StatusCode::peer_lost, format::Syndrome::none, last},
            "the wait says who is lost");
    require(!launch(WaitForEver{objects_}), "nothing is launched before the loss is acknowledged");
    require(context_.acknowledge_losses() == std::vector<int>{last}, "the last PE is lost");

    require(launch(Exchange{objects_, team_, 1}), "the others exchange data");
    require(status().ok(), "the others wait for each other and reduce");
    std::uint64_t sum = 0;
    require(context_.download(&sum, objects_.sum, 1), "download");
    require(sum == static_cast<std::uint64_t>(last) * (static_cast<unsigned>(last) + 1) / 2,
            "the sum is that of the others");

    require(launch(MeetAll{objects_}), "a kernel of the whole team");
    require(status().code == StatusCode::peer_lost && status().peer == last,
            "a team with the lost PE says so");
    require(context_.barrier(), "the others meet");
    const auto more = context_.allocate<std::uint64_t>(1);
    require(!more && more.error().code() == Code::peer_lost, "an allocation takes all PEs");
    require(launch(Exchange{objects_, team_, 2}), "the others go on");
    require(status().ok(), "and their team is not broken");
    std::printf("PE %d is done\n", context_.my_pe());
  }

 private:
  template <class Kernel>
  Result<void> launch(const Kernel& kernel) {
    return context_.launch(kernel, {.blocks = 1, .threads = 1});
  }
  Status status() {
    Status status;
    require(context_.download(&status, objects_.status, 1), "download");
    return status;
  }

  Context& context_;
  Objects objects_{};
  Team team_ = kTeamInvalid;
};

}  // namespace

int main() {
  const auto context = init();
  require(context, "init");
  Survivor survivor(**context);
  if ((*context)->my_pe() == (*context)->n_pes() - 1) survivor.be_killed();
  survivor.run();
}

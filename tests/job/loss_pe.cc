// One PE of a job that loses one: `loss_pe HOW WAIT [FILE]`. The others wait in a kernel; then the
// last PE goes, and they say how their wait for it ended.
//
//   HOW    killed: by SIGKILL; left: it ends without leaving; cut: it makes FILE, for whoever cuts
//          its host off, and waits, too
//   WAIT   word, barrier, lock, message or put
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gdakit.h"

namespace {

using namespace gdakit;

struct Objects {
  std::uint64_t* word;     // that nobody writes
  std::uint64_t* waiting;  // at the last PE: how many others wait
  Lock* lock;
  std::uint64_t* data;
  Status* status;
};

// The last PE takes the lock, and all meet.
struct Meet {
  Objects objects;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    *objects.status = {};
    if (pe.my_pe() == pe.n_pes() - 1) *objects.status = pe.set_lock(objects.lock);
    pe.barrier_all();
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

enum class Wait { word, barrier, lock, message, put };

struct WaitForTheLast {
  Objects objects;
  Channels channels;
  Wait wait;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.atomic_add(objects.waiting, 1, pe.n_pes() - 1);
    *objects.status = outcome(pe);
  }

  template <class Pe>
  GDAKIT_DEVICE Status outcome(Pe& pe) const {
    const int last = pe.n_pes() - 1;
    switch (wait) {
      case Wait::word: return pe.wait_until(objects.word, Compare::ne, 0);
      case Wait::barrier: return pe.barrier_all();
      case Wait::lock: return pe.set_lock(objects.lock);
      case Wait::message: {
        auto channel = pe.channel(channels, 0);
        const Status posted = channel.post_receive(objects.data, sizeof(std::uint64_t), last);
        if (!posted) return posted;
        return channel.wait_receive(last).status;
      }
      case Wait::put: break;
    }
    for (;;) {
      Status status = pe.put(objects.data, objects.data, 1, last);
      if (status) status = pe.quiet();
      if (!status) return status;
    }
  }
};

const char* name_of(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::queue_error: return "queue_error";
    case StatusCode::stalled: return "stalled";
    case StatusCode::invalid_address: return "invalid_address";
    case StatusCode::invalid_argument: return "invalid_argument";
    case StatusCode::peer_lost: return "peer_lost";
  }
  return "unknown";
}

Wait wait_of(const std::string& name) {
  for (const auto& [word, wait] :
       {std::pair{"word", Wait::word}, std::pair{"barrier", Wait::barrier},
        std::pair{"lock", Wait::lock}, std::pair{"message", Wait::message}}) {
    if (name == word) return wait;
  }
  return Wait::put;
}

Result<Objects> allocate(Context& context) {
  const auto words = context.allocate<std::uint64_t>(3);
  if (!words) return words.error();
  const auto lock = context.allocate<Lock>(1);
  if (!lock) return lock.error();
  const auto status = context.allocate<Status>(1);
  if (!status) return status.error();
  return Objects{*words, *words + 1, *lock, *words + 2, *status};
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

// Once all others wait.
Result<void> go(Context& context, const Objects& objects, const std::string& how,
                const char* file) {
  const auto met = context.launch(AwaitTheOthers{objects}, {.blocks = 1, .threads = 1});
  if (!met) return met;
  if (how == "killed") ::raise(SIGKILL);
  if (how == "left") std::_Exit(0);
  std::ofstream(file) << "all wait\n";
  return {};
}

int run(Context& context, const std::string& how, Wait wait, const char* file) {
  const Result<Objects> objects = allocate(context);
  if (!objects) return fail(objects.error());
  const Result<Channels> channels = context.add_channels();
  if (!channels) return fail(channels.error());
  if (const auto met = context.launch(Meet{*objects}, {.blocks = 1, .threads = 1}); !met) {
    return fail(met.error());
  }
  if (context.my_pe() == context.n_pes() - 1) {
    if (const auto gone = go(context, *objects, how, file); !gone) return fail(gone.error());
  }
  const WaitForTheLast kernel{*objects, *channels, wait};
  const Result<void> done = context.launch(kernel, {.blocks = 1, .threads = 1});
  Status status;
  if (const auto read = context.download(&status, objects->status, 1); !read) {
    return fail(read.error());
  }
  std::printf("PE %d: %s, PE %d; the launch says: %s\n", context.my_pe(), name_of(status.code),
              status.peer, done ? "nothing" : done.error().message().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto context = init();
  if (!context) return fail(context.error());
  return run(**context, argv[1], wait_of(argv[2]), argc > 3 ? argv[3] : nullptr);
}

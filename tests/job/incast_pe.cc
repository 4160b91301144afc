// One PE of a job in which all others put to PE 0 at once: `incast_pe ROUNDS`. PE 0 compares what
// came, and says how long all of it took.
#include <cstdio>
#include <cstdlib>

#include "core/base/wait_clock.h"
#include "gdakit.h"

namespace {

using namespace gdakit;

constexpr std::size_t kCount = 50'000;  // elements that a PE puts in a round, of 4 bytes
constexpr unsigned kThreads = 32;

struct Round {
  std::uint32_t* source;
  std::uint32_t* target;  // at PE 0: a row for each PE
  std::uint64_t* wrong;
  std::uint32_t number;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto me = static_cast<std::uint32_t>(pe.my_pe());
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) source[i] = value(me, i);
    pe.block().barrier_all();
    if (me != 0) pe.block().put_nbi(target + me * kCount, source, kCount, 0);
    pe.block().barrier_all();  // all has come
    if (me == 0) check(pe);
    pe.block().barrier_all();  // and been looked at
  }

  template <class Pe>
  GDAKIT_DEVICE void check(Pe& pe) const {
    auto& m = pe.machine();
    const auto pes = static_cast<std::uint32_t>(pe.n_pes());
    for (std::uint32_t from = 1; from < pes; ++from) {
      for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
        if (target[from * kCount + i] == value(from, i)) continue;
        m.fetch_add(order::RelaxedGpu{}, wrong, 1);
      }
    }
  }

  GDAKIT_DEVICE std::uint32_t value(std::uint32_t pe, std::size_t i) const {
    return number * 1'000'000'007u + pe * 65'537u + static_cast<std::uint32_t>(i);
  }
};

Result<void> run(Context& context, std::uint32_t rounds) {
  const auto pes = static_cast<std::size_t>(context.n_pes());
  auto data = context.allocate<std::uint32_t>((pes + 1) * kCount);
  if (!data) return data.error();
  auto wrong = context.allocate<std::uint64_t>(1);
  if (!wrong) return wrong.error();
  Round round{*data + pes * kCount, *data, *wrong, 0};
  const std::uint64_t begin = steady_ns();
  for (round.number = 1; round.number <= rounds; ++round.number) {
    if (Result<void> ran = context.launch(round, {.blocks = 1, .threads = kThreads}); !ran) {
      return ran;
    }
  }
  std::uint64_t count = 0;
  if (Result<void> done = context.download(&count, *wrong, 1); !done) return done;
  if (count != 0) {
    return Error(Code::internal, std::to_string(count) + " elements are not what was put");
  }
  if (context.my_pe() != 0) return {};
  const auto seconds = static_cast<double>(steady_ns() - begin) / 1e9;
  const auto bytes = static_cast<double>(sizeof(std::uint32_t) * kCount * (pes - 1) * rounds);
  std::printf("%.1f MB from %zu PEs in %.2f s\n", bytes / 1e6, pes - 1, seconds);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto context = init();
  const Result<void> done =
      context ? run(**context, static_cast<std::uint32_t>(std::atoi(argv[1]))) : context.error();
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  if (context) (*context)->abort(done.error().message());
  return 1;
}

// What does the whole path cost, from a kernel's call through the NIC's thread to completion?
//
//   RoundTrip       one 8-byte put and quiet, seconds each
//   Bandwidth       large puts kept in flight, bytes a second, held against Memcpy
//   Memcpy          a kernel that copies the same bytes in PE 0's memory
//
// "threads": both PEs in this process. "processes": a child is the other PE. Payload goes by
// reference either way.
//
// Each measurement is a launch that moves the next 8 MiB of a buffer. "buffer:8388608" is the same
// memory each time, which caches may hold together with its copy; "buffer:67108864" is beyond most
// caches. Memcpy is launched like the puts: between two launches other programs take their part of
// the caches, and the next copy is slower for it, whoever makes it.
#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "bench/two_pes_rig.h"

namespace gdakit::bench {
namespace {

constexpr std::size_t kBytes = 8 << 20;  // moved by one launch
constexpr std::size_t kLargestBuffer = 64 << 20;
constexpr int kBatch = 16;

void RoundTrip(benchmark::State& state, TwoPes* pes) {
  constexpr int kTrips = 200;
  run_round_trips(state, *pes, kTrips);
  show_seconds_of_one(state, "per_trip", kTrips);
}

// move(pe, begin) moves the kBytes bytes from `begin` on. Each launch goes on behind the last one,
// in a buffer of state.range(1) bytes.
template <class Move>
void run_through(benchmark::State& state, TwoPes& pes, const Move& move) {
  const auto buffer = static_cast<std::size_t>(state.range(1));
  std::size_t begin = 0;
  run(state, pes, [&](auto& pe) {
    move(pe, begin);
    begin = (begin + kBytes) % buffer;
  });
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}

void Bandwidth(benchmark::State& state, TwoPes* pes) {
  const auto message = static_cast<std::size_t>(state.range(0));
  run_through(state, *pes, [pes, message](auto& pe, std::size_t begin) {
    for (std::size_t at = 0; at < kBytes; at += message) {
      const bool last = (at / message) % kBatch == kBatch - 1;
      pe.put_nbi(pes->target() + begin + at, pes->source() + begin + at, message, 1,
                 last ? Batch::last : Batch::more);
    }
    pe.quiet();
  });
}

void Memcpy(benchmark::State& state, TwoPes* pes) {
  const auto message = static_cast<std::size_t>(state.range(0));
  run_through(state, *pes, [pes, message](auto&, std::size_t begin) {
    for (std::size_t at = begin; at < begin + kBytes; at += message) {
      std::memcpy(pes->target() + at, pes->source() + at, message);
    }
    benchmark::ClobberMemory();
  });
}

void register_all(const std::string& where, TwoPes* pes) {
  const auto add = [&where, pes](const std::string& name, auto* bench) {
    return register_with(name + where, bench, pes);
  };
  add("RoundTrip/", RoundTrip);
  const std::vector<std::int64_t> buffers{kBytes, kLargestBuffer};
  add("Bandwidth/", Bandwidth)
      ->ArgNames({"", "buffer"})
      ->ArgsProduct({{4096, 65536, 1 << 20}, buffers});
  add("Memcpy/", Memcpy)->ArgNames({"", "buffer"})->ArgsProduct({{65536}, buffers});
}

int main(int argc, char** argv) {
  // The child is made first, while this process has one thread.
  Result<std::unique_ptr<TwoPes>> processes = TwoPes::as_processes(kLargestBuffer);
  if (!processes) return say(processes.error().message());
  Result<std::unique_ptr<TwoPes>> threads = TwoPes::as_threads(kLargestBuffer);
  if (!threads) return say(threads.error().message());
  register_all("threads", threads->get());
  register_all("processes", processes->get());
  return run_registered(argc, argv);
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) { return gdakit::bench::main(argc, argv); }

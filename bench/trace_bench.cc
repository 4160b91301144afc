// What does a timeline cost (GDAKIT_TRACE)? Two PEs as threads, without one and with one.
//
//   RoundTrip    one 8-byte put and quiet, seconds each
//   Puts         8-byte puts of one thread, a doorbell for each, 256 at a time; seconds each
//   Bandwidth    puts of 64 KiB kept in flight, bytes a second
//
// What is traced goes to a folder for temporary files, some 200 MB, and is removed. Times are those
// of launches, which are the same with and without.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/two_pes_rig.h"

namespace gdakit::bench {
namespace {

constexpr std::size_t kBytes = 8 << 20;  // of a buffer, and moved by one launch of Bandwidth
constexpr std::size_t kMessage = 64 << 10;
constexpr int kTrips = 50;
constexpr int kPuts = 256;

void RoundTrip(benchmark::State& state, TwoPes* pes) {
  run_round_trips(state, *pes, kTrips);
  show_seconds_of_one(state, "per_operation", kTrips);
}

void Puts(benchmark::State& state, TwoPes* pes) {
  run(state, *pes, [pes](auto& pe) {
    for (int i = 0; i < kPuts; ++i) {
      pe.put_value(pes->words(), static_cast<std::uint64_t>(i), 1);
    }
    pe.quiet();
  });
  show_seconds_of_one(state, "per_operation", kPuts);
}

void Bandwidth(benchmark::State& state, TwoPes* pes) {
  run(state, *pes, [pes](auto& pe) {
    for (std::size_t at = 0; at < kBytes; at += kMessage) {
      pe.put_nbi(pes->target() + at, pes->source() + at, kMessage, 1);
    }
    pe.quiet();
  });
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}

void register_all(const std::string& how, TwoPes* pes) {
  const auto add = [&how, pes](const std::string& name, auto* bench, int launches) {
    register_with(name + how, bench, pes)->Iterations(launches);
  };
  add("RoundTrip/", RoundTrip, 500);
  add("Puts/", Puts, 200);
  add("Bandwidth/", Bandwidth, 100);
}

// Gone with this, and all that is in it.
class Folder {
 public:
  Folder() {
    path_ = std::filesystem::temp_directory_path() / "gdakit-trace-bench-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int main(int argc, char** argv) {
  const Folder folder;
  if (folder.path().empty()) return say("no folder for temporary files");
  Result<std::unique_ptr<TwoPes>> without = TwoPes::as_threads(kBytes);
  if (!without) return say(without.error().message());
  Result<std::unique_ptr<TwoPes>> with = TwoPes::as_threads(kBytes, {.trace = folder.path()});
  if (!with) return say(with.error().message());
  register_all("untraced", without->get());
  register_all("traced", with->get());
  return run_registered(argc, argv);
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) { return gdakit::bench::main(argc, argv); }

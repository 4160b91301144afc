#include "core/host/counter_file.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/base/files.h"
#include "core/base/library_thread.h"
#include "core/base/wall_clock.h"

namespace gdakit {
namespace {

constexpr std::chrono::milliseconds kBetweenFiles{500};

}  // namespace

CounterFile::CounterFile(std::string directory, int pe, Log log, const Backend& backend)
    : path_(directory + "/pe" + std::to_string(pe) + ".prom"),
      next_path_(directory + "/.pe" + std::to_string(pe) + ".prom." + std::to_string(::getpid())),
      log_(log),
      backend_(backend) {
  counters_.pe = pe;
  counters_.started_ms = wall_ms();
}

Result<std::unique_ptr<CounterFile>> CounterFile::open(const std::string& directory, int pe,
                                                       Log log, const Backend& backend) {
  // The program may change its own directory later.
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(directory, ignored);
  std::unique_ptr<CounterFile> file(new CounterFile(whole, pe, log, backend));
  if (const Result<void> written = file->write(); !written) {
    const Error& error = written.error();
    return Error(error.code(),
                 "GDAKIT_COUNTERS: " + error.message() +
                     "; name a directory that exists and that this process may write to",
                 error.system_code());
  }
  file->thread_ = start_library_thread([raw = file.get()] { raw->run(); });
  return file;
}

CounterFile::~CounterFile() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CounterFile::name_queue(QueueNumber queue, QueuePosition position) {
  const std::lock_guard lock(mutex_);
  positions_[queue] = position;
}

void CounterFile::run() {
  bool last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      last = changed_.wait_for(lock, kBetweenFiles, [this] { return stopping_; });
    }
    const Result<void> written = write();
    if (written || std::exchange(failed_, true)) continue;
    log_.warn("GDAKIT_COUNTERS: " + written.error().message() + "; it is tried again and again");
  }
}

Result<void> CounterFile::write() {
  NicCount count = backend_.count();
  std::set<QueueNumber> broken;
  for (const BrokenQueue& queue : backend_.broken_queues()) broken.insert(queue.number);
  counters_.sampled_ms = wall_ms();
  counters_.nic = count.nic;
  counters_.counts = count.counts;
  counters_.queues.clear();
  {
    const std::lock_guard lock(mutex_);
    for (const QueueCount& queue : count.queues) {
      PeCounters::Queue& entry = counters_.queues.emplace_back();
      entry.number = queue.number;
      entry.counters = queue.counters;
      entry.broken = broken.contains(queue.number);
      const auto found = positions_.find(queue.number);
      if (found != positions_.end()) entry.position = found->second;
    }
  }
  const std::string text = prometheus_text({&counters_, 1});
  return replace_file(path_, next_path_, text);
}

}  // namespace gdakit

#include "backends/softnic/uverbs/preload/shim.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "core/base/log.h"
#include "core/base/queued_file.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::string_view kSysBegin = "/sys/class/infiniband";
constexpr std::string_view kDeviceBegin = "/dev/infiniband/uverbs";
constexpr auto kDrainPatience = std::chrono::milliseconds(200);
// A NIC that counts nothing new in so many looks, so long apart, has done all.
constexpr int kQuietLooks = 4;
constexpr auto kBetweenLooks = std::chrono::microseconds(100);
constexpr auto kPause = std::chrono::milliseconds(1);

// By the NIC's counters, which are told between two of its steps.
void drain_nic(Nic& nic, std::chrono::steady_clock::time_point limit) {
  NicCounters before = nic.counters();
  for (int quiet = 0; quiet < kQuietLooks && std::chrono::steady_clock::now() < limit;) {
    std::this_thread::sleep_for(kBetweenLooks);
    nic.progress();
    const NicCounters now = nic.counters();
    quiet = std::memcmp(&now, &before, sizeof now) == 0 ? quiet + 1 : 0;
    before = now;
  }
}

std::atomic<Shim*> the_shim{nullptr};

// By a system call: fstat is answered by this library.
std::optional<std::uint64_t> inode_of(int file) {
  struct stat status {};
  if (::syscall(SYS_fstat, file, &status) != 0) return std::nullopt;
  return status.st_ino;
}

void say(const Error& error) { Log(LogLevel::error).error("verbs: " + error.message()); }

// The child has the tables of its parent, but neither threads nor locks that it can trust.
void begin_anew_in_children() {
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, [] { the_shim = nullptr; }); });
}

}  // namespace

Shim& Shim::get() {
  Shim* shim = the_shim.load();
  if (shim != nullptr) return *shim;
  std::unique_ptr<Shim> made(new Shim);
  if (the_shim.compare_exchange_strong(shim, made.get())) return *made.release();
  return *shim;
}

Shim::Shim() : owner_(::getpid()) {
  begin_anew_in_children();
  const char* const folder = std::getenv(kSysfsVariable);
  const char* const spec = std::getenv(kSpecVariable);
  if (folder == nullptr) return;
  Result<Spec> parsed = Spec::parse(spec == nullptr ? "" : spec);
  if (!parsed) {
    say(parsed.error());
    return;
  }
  sysfs_ = folder;
  spec_ = std::move(*parsed);
}

std::optional<std::string> Shim::sysfs_path(const char* path) const {
  if (path == nullptr || !active()) return std::nullopt;
  const std::string_view view = path;
  if (view.substr(0, kSysBegin.size()) != kSysBegin) return std::nullopt;
  return sysfs_ + std::string(view.substr(std::strlen("/sys")));
}

std::optional<int> Shim::device_of(const char* path) const {
  if (path == nullptr || !active()) return std::nullopt;
  const std::string_view view = path;
  if (view.substr(0, kDeviceBegin.size()) != kDeviceBegin) return std::nullopt;
  for (int index = 0; index < spec_.nics; ++index) {
    if (view.substr(kDeviceBegin.size()) == std::to_string(index)) return index;
  }
  return std::nullopt;
}

// A descriptor can be closed without a call that this library answers, and its number used again.
// The context ends with the next one that has the number, or with the process.
bool Shim::is_still_open(int file) {
  const int index = index_of(file);
  if (index < 0) return false;  // closed by another thread just now
  const auto inode = inode_of(file);
  if (inode && *inode == places_[static_cast<std::size_t>(index)].inode.load()) return true;
  open_[static_cast<std::size_t>(file)] = 0;
  return false;
}

// Calls on other devices, and on this one, go on while it is made.
Result<Device*> Shim::device(int index) {
  Place& place = places_[static_cast<std::size_t>(index)];
  const std::lock_guard lock(place.opening);
  if (place.device == nullptr) {
    Result<std::unique_ptr<Device>> opened = Device::open(spec_, index);
    if (!opened) return opened.error();
    place.device = opened->release();
    any_device_ = true;
    if (place.device.load()->writes_files()) writes_files_ = true;
  }
  return place.device.load();
}

Result<std::shared_ptr<Context>> Shim::make_context(int index, int& file) {
  const Result<Device*> device = this->device(index);
  if (!device) return device.error();
  const Result<int> opened = (*device)->pages().open_file();
  if (!opened) return opened.error();
  file = *opened;
  places_[static_cast<std::size_t>(index)].inode = inode_of(file).value_or(0);
  if (file >= kMostFiles) {
    ::close(file);
    return Error(Code::exhausted, "the program has more than 65535 files open");
  }
  return std::make_shared<Context>(**device);
}

int Shim::open(int index) {
  int file = -1;
  Result<std::shared_ptr<Context>> context = make_context(index, file);
  if (!context) {
    say(context.error());
    errno = errno_of(context.error());
    return -1;
  }
  const std::lock_guard lock(mutex_);
  // One that was closed unseen ends behind the lock.
  std::swap(contexts_[file], *context);
  open_[static_cast<std::size_t>(file)] = static_cast<std::int8_t>(index + 1);
  return file;
}

std::shared_ptr<Context> Shim::context(int file) {
  const std::lock_guard lock(mutex_);
  const auto at = contexts_.find(file);
  return at == contexts_.end() ? nullptr : at->second;
}

void Shim::closed(int file) {
  std::shared_ptr<Context> last;  // its end takes a while, and needs no lock
  const std::lock_guard lock(mutex_);
  const auto at = contexts_.find(file);
  if (at == contexts_.end()) return;
  open_[static_cast<std::size_t>(file)] = 0;
  last = std::move(at->second);
  contexts_.erase(at);
}

void Shim::range_closed(unsigned first, unsigned last) {
  if (!is_owner()) return;
  std::vector<int> files;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [file, context] : contexts_) {
      if (static_cast<unsigned>(file) >= first && static_cast<unsigned>(file) <= last) {
        files.push_back(file);
      }
    }
  }
  for (const int file : files) closed(file);
}

void Shim::duplicated(int file, int other) {
  const std::lock_guard lock(mutex_);
  const auto at = contexts_.find(file);
  if (at == contexts_.end() || other >= kMostFiles) return;
  open_[static_cast<std::size_t>(other)] = open_[static_cast<std::size_t>(file)].load();
  contexts_[other] = at->second;
}

void Shim::pause() const {
  if (!any_device_ || !is_owner()) return;
  const std::chrono::nanoseconds pause = writes_files_ ? QueuedFile::kMostBehind : kPause;
  const timespec moment{0, pause.count()};
  ::nanosleep(&moment, nullptr);
}

void Shim::drain() {
  if (!is_owner()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const auto limit = std::chrono::steady_clock::now() + kDrainPatience;
  for (const Place& place : places_) {
    if (Device* const device = place.device) drain_nic(device->nic(), limit);
  }
  if (writes_files_) std::this_thread::sleep_for(QueuedFile::kMostBehind);
}

}  // namespace gdakit::softnic::uverbs

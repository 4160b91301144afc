#include "backends/softnic/uverbs/preload/shim.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <pthread.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "backends/softnic/uverbs/cm/commands.h"
#include "backends/softnic/uverbs/sysfs.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/base/log.h"
#include "core/base/queued_file.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::array<std::string_view, 2> kSysBegins = {"/sys/class/infiniband",
                                                        "/sys/class/misc/rdma_cm"};
constexpr std::string_view kModulesBegin = "/sys/module/";
constexpr std::string_view kGroupsBegin = "/sys/fs/cgroup/";
constexpr std::string_view kGroupLimitsFile = "/fs/cgroup/rdma.max";
constexpr std::string_view kDeviceBegin = "/dev/infiniband/uverbs";
constexpr std::string_view kCm = "/dev/infiniband/rdma_cm";
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

// The module that a path is of, or is below.
std::string_view module_of(std::string_view path) {
  if (!path.starts_with(kModulesBegin)) return {};
  const std::string_view rest = path.substr(kModulesBegin.size());
  return rest.substr(0, rest.find('/'));
}

// Of any control group: a program looks in its own, which /proc/self/cgroup names.
bool is_group_limit(std::string_view path) {
  return path.starts_with(kGroupsBegin) && path.ends_with("/rdma.max");
}

// Which one of its job's PEs or ranks this process is, as what started it says.
std::optional<int> pe_of_process() {
  for (const char* const variable :
       {"GDAKIT_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"}) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) continue;
    char* end = nullptr;
    const long rank = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && rank >= 0 && rank <= INT_MAX) return static_cast<int>(rank);
  }
  return std::nullopt;
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

bool Shim::has_failures() {
  const char* const fail = std::getenv(kFailVariable);
  return fail != nullptr && *fail != '\0';
}

Shim* Shim::made() { return the_shim.load(); }

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
  const char* const fail = std::getenv(kFailVariable);
  const Result<Failures> failures = Failures::parse(fail == nullptr ? "" : fail);
  if (!failures) {
    say(failures.error().within(kFailVariable));
    return;
  }
  const std::optional<int> pe = pe_of_process();
  spec_ = std::move(*parsed);
  spec_.failures = failures->of_pe(pe);
  const bool is_named = pe && failures->pes().contains(*pe);
  sysfs_ = is_named
               ? std::filesystem::path(folder).replace_filename(sysfs_folder_name(spec_)).string()
               : folder;
  for (int index = 0; index < spec_.nics; ++index) {
    nodes_.push_back(spec_.failures.of_nic(index).node);
  }
  node_failures_ = spec_.failures.of_node();
  modules_ = NodeModules(spec_);
}

std::optional<std::string> Shim::sysfs_path(const char* path) const {
  if (path == nullptr || !active()) return std::nullopt;
  const std::string_view view = path;
  if (is_group_limit(view)) return sysfs_ + std::string(kGroupLimitsFile);
  const auto begins = [view](std::string_view begin) { return view.starts_with(begin); };
  if (std::ranges::none_of(kSysBegins, begins) && !modules_.tells_of(module_of(view))) {
    return std::nullopt;
  }
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

// Its identifiers end as soon as it is found out: others may want their ports.
bool Shim::is_still_open_cm(int file, std::optional<std::uint64_t> inode) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = opened_.find(file);
    if (at == opened_.end()) return false;
    if (inode && at->second.inode == *inode) return true;
  }
  closed(file);
  return false;
}

bool Shim::is_cm(const char* path) const { return path != nullptr && active() && path == kCm; }

// A descriptor can be closed without a call that this library answers, and its number used again.
// The context ends with the next one that has the number, or with the process.
bool Shim::is_still_open(int file) {
  const int index = index_of(file);
  if (index < 0) return false;  // closed by another thread just now
  const auto inode = inode_of(file);
  if (inode && index < kMostNics && *inode == places_[static_cast<std::size_t>(index)].inode.load())
    return true;
  if (index == kCmIndex) return is_still_open_cm(file, inode);
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

bool Shim::help_nics() {
  bool helped = false;
  for (int index = 0; index < spec_.nics; ++index) {
    Device* const device = places_[static_cast<std::size_t>(index)].device;
    if (device == nullptr || !device->is_helped()) continue;
    if (device->nic().progress()) helped = true;
  }
  return helped;
}

Device* Shim::device_behind(int file) {
  if (!is_open(file) || index_of(file) == kCmIndex) return nullptr;
  return places_[static_cast<std::size_t>(index_of(file))].device;
}

int Shim::open(int index) {
  if (const int error = node_error(index)) {
    errno = error;
    return -1;
  }
  int file = -1;
  Result<std::shared_ptr<Context>> context = make_context(index, file);
  if (!context) {
    say(context.error());
    errno = errno_of(context.error());
    return -1;
  }
  return keep(file, index, {std::move(*context), nullptr, 0});
}

int Shim::keep(int file, int index, Opened opened) {
  {
    const std::lock_guard lock(mutex_);
    std::swap(opened_[file], opened);
    open_[static_cast<std::size_t>(file)] = static_cast<std::int8_t>(index + 1);
  }
  // One that was closed unseen ends behind the lock.
  let_go(opened);
  return file;
}

cm::Manager& Shim::manager() {
  const std::lock_guard lock(manager_mutex_);
  if (manager_ == nullptr) {
    manager_ = new cm::Manager(spec_, [this](int index) { return device(index); });
  }
  return *manager_;
}

int Shim::open_cm(int flags) {
  Result<std::shared_ptr<cm::File>> opened = cm::File::open();
  if (!opened) {
    say(opened.error());
    errno = errno_of(opened.error());
    return -1;
  }
  try {
    manager();
  } catch (const std::system_error& error) {
    errno = error.code().value();  // no thread for it
    return -1;
  }
  const int file = (*opened)->take_client_end();
  if ((flags & O_NONBLOCK) != 0) ::fcntl(file, F_SETFL, O_NONBLOCK);
  if ((flags & O_CLOEXEC) == 0) ::fcntl(file, F_SETFD, 0);
  if (file >= kMostFiles) {
    ::close(file);
    errno = EMFILE;
    return -1;
  }
  return keep(file, kCmIndex, {nullptr, std::move(*opened), inode_of(file).value_or(0)});
}

std::shared_ptr<cm::File> Shim::cm_file(int file) {
  if (!is_open(file) || index_of(file) != kCmIndex) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto at = opened_.find(file);
  return at == opened_.end() ? nullptr : at->second.cm;
}

std::optional<int> Shim::write(int file, const void* bytes, std::size_t size) {
  if (file < 0 || file >= kMostFiles || index_of(file) != kCmIndex) return std::nullopt;
  const std::shared_ptr<cm::File> opened = cm_file(file);
  if (opened == nullptr) return std::nullopt;
  const bool may_block = (::fcntl(file, F_GETFL) & O_NONBLOCK) == 0;
  return cm::write_command(
      {manager(), opened, may_block, [this](int other) { return cm_file(other); }},
      reinterpret_cast<std::uintptr_t>(bytes), size);
}

bool Shim::maps_registers(const void* memory, std::size_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::optional<std::uint64_t> inode = mapped_file(begin, begin + size);
  const auto is_of = [&](const Place& place) { return place.inode.load() == *inode; };
  return inode && std::ranges::any_of(places_, is_of);
}

std::shared_ptr<Context> Shim::context(int file) {
  const std::lock_guard lock(mutex_);
  const auto at = opened_.find(file);
  return at == opened_.end() ? nullptr : at->second.context;
}

void Shim::closed(int file) {
  Opened last;  // its end takes a while, and needs no lock
  {
    const std::lock_guard lock(mutex_);
    const auto at = opened_.find(file);
    if (at == opened_.end()) return;
    open_[static_cast<std::size_t>(file)] = 0;
    last = std::move(at->second);
    opened_.erase(at);
  }
  let_go(last);
}

void Shim::let_go(const Opened& opened) {
  if (opened.cm == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    const auto is_same = [&opened](const auto& one) { return one.second.cm == opened.cm; };
    if (std::ranges::any_of(opened_, is_same)) return;
  }
  manager().close(*opened.cm);
}

void Shim::range_closed(unsigned first, unsigned last) {
  if (!is_owner()) return;
  std::vector<int> files;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [file, opened] : opened_) {
      if (static_cast<unsigned>(file) >= first && static_cast<unsigned>(file) <= last) {
        files.push_back(file);
      }
    }
  }
  for (const int file : files) closed(file);
}

void Shim::duplicated(int file, int other) {
  Opened before;
  {
    const std::lock_guard lock(mutex_);
    const auto at = opened_.find(file);
    if (at == opened_.end() || other >= kMostFiles) return;
    open_[static_cast<std::size_t>(other)] = open_[static_cast<std::size_t>(file)].load();
    Opened same = at->second;  // what is added may move it
    before = std::exchange(opened_[other], std::move(same));
  }
  let_go(before);
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
  if (cm::Manager* const manager = manager_) manager->try_close_all();
  const auto limit = std::chrono::steady_clock::now() + kDrainPatience;
  for (const Place& place : places_) {
    if (Device* const device = place.device) drain_nic(device->nic(), limit);
  }
  if (writes_files_) std::this_thread::sleep_for(QueuedFile::kMostBehind);
}

}  // namespace gdakit::softnic::uverbs

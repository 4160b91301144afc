// This process's soft ConnectXes, and which of its files are open devices.
//
// One for the process, made at its first call and never destroyed, for other threads of the program
// may come while it ends. A child of fork begins anew, with no device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "backends/softnic/uverbs/cm/file.h"
#include "backends/softnic/uverbs/cm/manager.h"
#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/node_modules.h"
#include "backends/softnic/uverbs/own_files.h"
#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs {

class Shim {
 public:
  static Shim& get();
  // Null before the first call of get(): nothing is open.
  static Shim* made();

  // Of a path that is answered in the place of /sys: where that lies. Nothing for all others.
  std::optional<std::string> sysfs_path(const char* path) const;
  // The index of a device's path, /dev/infiniband/uverbs<index>, if there is such a NIC.
  std::optional<int> device_of(const char* path) const;
  // Why the device's node may not be opened; 0: it may.
  int node_error(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  // What is broken of the node; asked where has_failures() says that something may be, which costs
  // nothing and makes nothing.
  const NicFailures& node_failures() const { return node_failures_; }
  static bool has_failures();
  // Whether the path is /dev/infiniband/rdma_cm.
  bool is_cm(const char* path) const;
  // Whether there are NICs at all.
  bool active() const { return !sysfs_.empty(); }

  // Opens the device. Returns a descriptor, or -1 and sets errno.
  int open(int index);
  // The same of rdma_cm; `flags` are those of open().
  int open_cm(int flags);
  // What write(file, bytes, size) does where the descriptor is of rdma_cm: 0, or an errno value.
  // Nothing for all others.
  std::optional<int> write(int file, const void* bytes, std::size_t size);

  // Whether the descriptor is an open device. Costs a load for those that are none. A child of
  // vfork, which has this process's memory and descriptors of its own, has no open device.
  bool is_open(int file) {
    return file >= 0 && file < kMostFiles && open_[static_cast<std::size_t>(file)].load() != 0 &&
           is_owner() && is_still_open(file);
  }
  // Of an open device: its index; kCmIndex of rdma_cm.
  int index_of(int file) const { return open_[static_cast<std::size_t>(file)].load() - 1; }
  static constexpr int kCmIndex = kMostNics;
  // One step of each NIC of this process that expects help, on the calling thread. Whether one had
  // something to do.
  bool help_nics();
  // The NIC of an open device, which stays as long as the process; null for what is none.
  Device* device_behind(int file);
  // Null for what is no open device: of rdma_cm.
  std::shared_ptr<Context> context(int file);
  void closed(int file);
  // Whether a program has mapped registers of a NIC there, over all of these bytes.
  bool maps_registers(const void* memory, std::size_t size) const;
  // All descriptors of the range are closed, as far as they are not kept.
  void range_closed(unsigned first, unsigned last);
  // Whether this is the process whose NICs these are, and not its child by vfork.
  bool is_owner() const { return ::getpid() == owner_; }
  // Whether the descriptor is the library's own. The child of vfork may close what it has of it.
  bool keeps(int file) const { return is_own_file(static_cast<unsigned>(file)) && is_owner(); }
  std::optional<unsigned> next_kept(unsigned from) const {
    return is_owner() ? next_own_file(from) : std::nullopt;
  }
  // `other` is another descriptor of what `file` is.
  void duplicated(int file, int other);

  // The process ends: waits, for a short time, until what its doorbells have rung for is sent and
  // what has come is answered.
  void drain();
  // The same for a process that may be in the middle of anything, a signal's handler included:
  // gives the NICs' threads a moment, and touches nothing.
  void pause() const;

 private:
  static constexpr int kMostFiles = 65536;

  // Of a NIC, which is made when it is opened first and stays.
  struct Place {
    std::mutex opening;  // may take seconds
    std::atomic<Device*> device{nullptr};
    std::atomic<std::uint64_t> inode{0};  // of the file of memory that the device is
  };

  // One of the two.
  struct Opened {
    std::shared_ptr<Context> context;
    std::shared_ptr<cm::File> cm;
    std::uint64_t inode = 0;
  };

  Shim();
  bool is_still_open(int file);
  bool is_still_open_cm(int file, std::optional<std::uint64_t> inode);
  Result<Device*> device(int index);
  Result<std::shared_ptr<Context>> make_context(int index, int& file);
  cm::Manager& manager();
  int keep(int file, int index, Opened opened);
  // A descriptor of it is closed, and may be the last one.
  void let_go(const Opened& opened);
  std::shared_ptr<cm::File> cm_file(int file);

  const pid_t owner_;
  Spec spec_;
  std::string sysfs_;
  std::vector<int> nodes_;  // by index
  NicFailures node_failures_;
  NodeModules modules_;
  std::atomic<bool> any_device_{false};
  std::atomic<bool> writes_files_{false};  // a capture, or what a timeline is made of
  std::array<std::atomic<std::int8_t>, kMostFiles> open_{};  // index + 1
  std::array<Place, kMostNics> places_;                      // by index
  std::mutex mutex_;                                         // held for moments, but by drain()
  std::unordered_map<int, Opened> opened_;
  std::mutex manager_mutex_;
  std::atomic<cm::Manager*> manager_{nullptr};  // made when rdma_cm is opened first, and stays
};

}  // namespace gdakit::softnic::uverbs

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
#include <unordered_map>
#include <vector>

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/device.h"
#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs {

class Shim {
 public:
  static Shim& get();

  // Of a path that is answered in the place of /sys: where that lies. Nothing for all others.
  std::optional<std::string> sysfs_path(const char* path) const;
  // The index of a device's path, /dev/infiniband/uverbs<index>, if there is such a NIC.
  std::optional<int> device_of(const char* path) const;
  // Whether there are NICs at all.
  bool active() const { return !sysfs_.empty(); }

  // Opens the device. Returns a descriptor, or -1 and sets errno.
  int open(int index);

  // Whether the descriptor is an open device. Costs a load.
  bool is_open(int file) const {
    return file >= 0 && file < kMostFiles && open_[static_cast<std::size_t>(file)].load() != 0;
  }
  // Of an open device: its index.
  int index_of(int file) const { return open_[static_cast<std::size_t>(file)].load() - 1; }
  std::shared_ptr<Context> context(int file);
  void closed(int file);
  // `other` is another descriptor of what `file` is.
  void duplicated(int file, int other);

  // The process ends: what its doorbells have rung for is sent, and what has come is answered.
  void drain();

 private:
  static constexpr int kMostFiles = 65536;

  Shim();
  Result<std::shared_ptr<Context>> make_context(int index, int& file);

  Spec spec_;
  std::string sysfs_;
  std::array<std::atomic<std::int8_t>, kMostFiles> open_{};  // index + 1
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unordered_map<int, std::shared_ptr<Context>> contexts_;
};

}  // namespace gdakit::softnic::uverbs

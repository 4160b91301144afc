// A machine as a test wants it: files below a folder of the test's own, NICs and GPUs that are
// played.
//
//   MadeUp machine;                                  // healthy: one ConnectX, no GPU
//   machine.write("/sys/.../current_link_width", "8");
//   look_at_pcie(machine.surroundings())
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tools/check/steps.h"

namespace gdakit::tools::check {

inline constexpr const char* kBridge = "/sys/devices/pci0000:3a/0000:3a:00.0";
inline constexpr const char* kNic = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0";

// What the puts of a test's NICs come to.
struct PlayedPuts {
  Result<void> opened, made, connected;
  mlx5::PutOutcome outcome{mlx5::PutOutcome::Kind::arrived, 0, 0, "", {}};
  std::uint64_t wrong = 0;
  mlx5::GpuMemoryTrial gpu_memory = {};
  std::uint64_t most_gpu_bytes = ~std::uint64_t{0};  // beyond which neither way takes a buffer
  GpuRdma gpu_rdma{true, true, true};
  mlx5::GpuDoorbellTrial gpu_doorbell;
  Result<void> by_gpu, by_host;  // puts of GPU threads, for which the one or the other rings
  std::optional<NicCounters> counters = NicCounters();
  NicCounters counted_by_a_put = {};
  int puts = 0;
  QueueType type = QueueType::rc;  // of the queue that was made last
};

class MadeUp {
 public:
  MadeUp();
  ~MadeUp();
  MadeUp(const MadeUp&) = delete;
  MadeUp& operator=(const MadeUp&) = delete;

  void write(const std::string& path, const std::string& text);
  void remove(const std::string& path);
  // A link of /sys to a device's folder.
  void link(const std::string& path, const std::string& target);
  // A PCI device of NVIDIA's at this folder of /sys/devices.
  void add_gpu(const std::string& folder, int numa_node);

  Surroundings& surroundings() { return surroundings_; }
  mlx5::NicLook& nic(std::size_t index = 0) { return surroundings_.nics->at(index); }
  mlx5::PortLook& port() { return nic().ports.front(); }
  PlayedPuts& puts() { return *puts_; }

 private:
  std::string root_;
  std::shared_ptr<PlayedPuts> puts_ = std::make_shared<PlayedPuts>();
  Surroundings surroundings_;
};

// A port that is ACTIVE, of RoCE v2 with an IPv4 address.
mlx5::NicLook healthy_nic(const std::string& name);

// A configuration space of a bridge whose Access Control Services are set so.
std::string configuration(std::uint16_t access_control);

// A test of steps: each on a healthy machine, and on one where its thing is wrong.
class CheckSteps : public testing::Test {
 protected:
  using Look = StepReport (*)(const Surroundings&);

  // What the one finding of a step says; none of its fields is empty, but for the thing that it is
  // on.
  Finding finding_of(Look look, Verdict wanted);
  // Nothing is found.
  void expect(Look look, Verdict wanted);

  MadeUp machine_;
};

}  // namespace gdakit::tools::check

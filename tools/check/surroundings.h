// All that the steps of `gdakit check` look at. Tests make it up.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/mlx5/check.h"
#include "backends/mlx5/devices.h"
#include "core/base/gid_choice.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/gpu/gpu.h"
#include "core/host/gpu/gpu_rdma.h"
#include "tools/check/tree.h"

namespace gdakit::tools::check {

// Memory of a GPU as a heap would have it.
struct GpuMemory {
  std::shared_ptr<void> owner;
  MemoryProvider* provider = nullptr;
  void* base = nullptr;
};

// Where there is no job to count them in.
inline constexpr std::uint32_t kAssumedPes = 16;

struct Surroundings {
  Tree tree;
  Options options;
  std::uint32_t pes = kAssumedPes;            // of the job
  std::optional<std::uint64_t> locked_bytes;  // RLIMIT_MEMLOCK; nothing: no limit
  Result<mlx5::LibrariesLook> libraries = Error(Code::unavailable, "not looked at");
  Result<std::vector<mlx5::NicLook>> nics = Error(Code::unavailable, "not looked at");
  GpuReport gpus;
  std::chrono::milliseconds put_limit{10'000};
  std::function<Result<std::unique_ptr<mlx5::PutEnd>>(const std::string& nic, unsigned port)>
      open_put_end;
  // Which NICs a PE takes, as mlx5::place_nics: by the GPUs of the PEs up to it, or "" for none.
  std::function<Result<std::vector<mlx5::PlacedNic>>(const std::vector<std::string>& gpus)>
      place_nics;
  std::function<Result<void>(const std::string& nic, unsigned port, int gpu, NicHandler handler)>
      put_by_gpu;
  std::function<Result<GpuMemory>(int ordinal, std::uint64_t bytes)> take_gpu_memory;
  std::function<Result<GpuRdma>(int ordinal)> gpu_rdma;

  // NICs that are open, and their ports that are ACTIVE.
  struct UsablePort {
    const mlx5::NicLook* nic;
    const mlx5::PortLook* port;
    const mlx5::GidLook* gid;     // that a PE takes; null: there is none
    std::string name() const;     // "mlx5_0 port 1"
    std::string address() const;  // of the GID: "10.0.0.1"; "none"
  };
  std::vector<UsablePort> usable_ports() const;
  // ConnectX NICs that GDAKIT_HCA_LIST does not leave out.
  std::vector<const mlx5::NicLook*> own_nics() const;
  // Why there is nothing to look at where own_nics() or usable_ports() is empty.
  std::string why_no_nic() const;
  // The NICs of this process as a PE.
  Result<std::vector<mlx5::PlacedNic>> nics_of_this_pe() const;
};

// The one that a PE takes, of those that the choice (GDAKIT_GID) allows: RoCE v2 before v1, routed
// before link-local, IPv4 before IPv6. Null: there is none.
const mlx5::GidLook* chosen_gid(const mlx5::PortLook& port, const GidChoice& choice);

// This machine. `with_gpus`: CUDA is asked, too, which takes a while.
Surroundings look_around(const Options& options, bool with_gpus,
                         std::chrono::milliseconds put_limit);

}  // namespace gdakit::tools::check

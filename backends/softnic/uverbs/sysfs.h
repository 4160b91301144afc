// What programs read of NICs in /sys, as a folder of files.
//
//   <folder>/class/infiniband/mlx5_0           -> devices/.../0000:01:00.0/infiniband/mlx5_0
//   <folder>/class/infiniband_verbs/uverbs0    -> .../infiniband_verbs/uverbs0
//   <folder>/module/mlx5_core                  the kernel's modules
//   <folder>/fs/cgroup/rdma.max                what the process's control group may have of them
#pragma once

#include <string>

#include "backends/softnic/uverbs/spec.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

// Writes it into a folder that exists and is empty, and that will lie at `lies_at`.
Result<void> write_sysfs(const std::string& folder, const Spec& spec, const std::string& lies_at);

// A folder with it, of this user alone, in TMPDIR: <TMPDIR>/gdakit-verbs-<user>/<what it is of>.
// One that is there already is used again where it holds what this version writes, and is written
// anew where not. It stays, for programs that run longer than the caller. Errors name the folder.
Result<std::string> sysfs_folder(const Spec& spec);

// How that one is called: by what it is of. spec.failures are those of one PE (Failures::of_pe).
std::string sysfs_folder_name(const Spec& spec);

// The device number of /dev/infiniband/uverbs<index>.
inline constexpr unsigned kDeviceMajor = 231;
constexpr unsigned device_minor(int index) { return 192 + static_cast<unsigned>(index); }

// And that of /dev/infiniband/rdma_cm.
inline constexpr unsigned kCmMajor = 10;
inline constexpr unsigned kCmMinor = 58;

}  // namespace gdakit::softnic::uverbs

// The CUDA Multi-Process Service: with it, kernels and copies of several processes run side by side
// on one GPU. Without it the processes take turns in time slices of milliseconds.
//
// The daemon of a job is its launcher's own: its pipe and its log lie in a private directory, and
// it ends with the job by its own command. Programs find it by CUDA_MPS_PIPE_DIRECTORY.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "tools/guard.h"

namespace gdakit::tools {

enum class MpsChoice { automatic, on, off };

class Mps {
 public:
  // Whether nvidia-cuda-mps-control is on the PATH.
  static bool installed();

  // Starts a daemon; the guard ends it if the launcher is killed. Errors: there is no
  // nvidia-cuda-mps-control on the PATH (not_found), or it fails.
  static Result<std::unique_ptr<Mps>> start(const Guard& guard);

  // Asks the daemon to quit and waits for it; one that does not end within 10 s is killed.
  ~Mps();
  Mps(const Mps&) = delete;
  Mps& operator=(const Mps&) = delete;

  // The variables by which a program finds the daemon.
  std::vector<std::pair<std::string, std::string>> environment() const;

 private:
  explicit Mps(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
  pid_t daemon_ = 0;
};

// CUDA_DEVICE_MAX_CONNECTIONS for each of so many processes that share a GPU; nothing where the
// environment has it. MPS has some hundred connections to a GPU in all, of which a PE takes as many
// in each of two CUDA contexts, and each takes time when a context is made.
std::vector<std::pair<std::string, std::string>> connections_of(int processes, bool by_mps);

}  // namespace gdakit::tools

// gdakit: GPU-initiated RDMA that can be tested anywhere. The one header that a program includes.
//
//   struct RingShift {
//     int* destination;
//     template <class Pe>
//     GDAKIT_DEVICE void operator()(Pe& pe) const {
//       pe.put_value(destination, pe.my_pe(), (pe.my_pe() + 1) % pe.n_pes());
//       pe.quiet();
//     }
//   };
//
//   gdakit::Result<std::unique_ptr<gdakit::Context>> context = gdakit::init();
//   ...
//   auto done = (*context)->launch(RingShift{destination}, {.blocks = 1, .threads = 1});
#pragma once

// An older C++ would fail at hundreds of places before anybody sees why.
#if __cplusplus < 201703L
#error "gdakit.h needs C++17 or newer: compile with -std=c++17"
#else

#include "backends/registry.h"
#include "core/host/bootstrap/bootstrap_open.h"
#include "core/host/context.h"
#include "core/host/launch/unique_id.h"
#include "core/host/run_in_process.h"
#include "device/channel.h"
#include "device/pe.h"
#include "sim/emulator.h"
#if GDAKIT_NVCC
#include "device/cuda_launch.cuh"
#endif

namespace gdakit {

// Collective. This process as one PE of the job that started it, whatever the launcher: `gdakit
// run`, mpirun and others with PMIx, torchrun, srun (docs/bring-up-a-cluster.md); else as a job of
// one. `options` default to the environment's.
template <class Compiler = ThisCompiler>
Result<std::unique_ptr<Context>> init();
template <class Compiler = ThisCompiler>
Result<std::unique_ptr<Context>> init(const Options& options);

// Collective. PE `rank` of `n_pes` PEs, which have got the same id over a channel of the user's
// own:
//
//   Result<UniqueId> id = make_unique_id(options);      // on rank 0
//   ... give it to the others: a file, a pipe, a broadcast ...
//   auto context = init(options, *id, rank, n_pes);     // on all
//
// An id is good for one job. Errors: a rank or size that is not possible; an id that is none, that
// was used before, or whose PE 0 cannot be reached within options.timeout. gdakit_mpi.h does the
// same over an MPI communicator.
template <class Compiler = ThisCompiler>
Result<std::unique_ptr<Context>> init(const Options& options, const UniqueId& id, int rank,
                                      int n_pes);

// Runs `pe_main` on `n_pes` PEs that are threads of this process, with the backend that the options
// name.
template <class Compiler = ThisCompiler>
Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main);

namespace detail {

// The same for kernels that run on a GPU, or on the emulator only.
Result<std::unique_ptr<Context>> init(const Options& options, bool kernels_for_gpu);
Result<std::unique_ptr<Context>> init(const Options& options, const UniqueId& id, int rank,
                                      int n_pes, bool kernels_for_gpu);
Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main,
                            bool kernels_for_gpu);

// Launches where the compiler has made kernels for a GPU; else says that it has not.
template <bool kCompiled>
struct GpuLauncher {
  template <class Kernel>
  static Result<void> launch(Gpu&, const DeviceContext&, Stream, const Kernel&, LaunchShape) {
    return Error(Code::unavailable,
                 "this kernel was compiled for the CPU emulator only; compile its file with nvcc, "
                 "or set GDAKIT_DEVICE=cpu");
  }
};

#if GDAKIT_NVCC
template <>
struct GpuLauncher<true> {
  template <class Kernel>
  static Result<void> launch(Gpu& gpu, const DeviceContext& context, Stream stream,
                             const Kernel& kernel, LaunchShape shape) {
    if (Result<void> current = gpu.make_current(); !current) return current;
    if (Result<void> prepared = gpu.prepare(stream); !prepared) return prepared;
    const cudaError_t launched = launch_on_gpu(context, stream, kernel, shape);
    if (launched == cudaSuccess) return {};
    std::string text = std::string("CUDA: ") + cudaGetErrorString(launched);
    if (launched == cudaErrorLaunchOutOfResources) {
      const std::string threads = std::to_string(shape.threads);
      text += ": a block of " + threads +
              " threads does not leave each the registers that this kernel was compiled with; give "
              "the kernel a member `static constexpr int max_threads = " +
              threads + ";`";
    }
    return Error(Code::system, text);
  }
};
#endif

// What a timeline shows of a kernel's blocks.
class BlocksOfSpan final : public sim::BlockObserver {
 public:
  explicit BlocksOfSpan(const KernelSpan& span) : span_(span) {}
  void block_begins(std::uint32_t block) override { span_.begin_block(block); }
  void block_ends(std::uint32_t block) override { span_.end_block(block); }

 private:
  const KernelSpan& span_;
};

template <class Compiler>
struct KernelLauncher {
  template <class Kernel>
  static Result<void> on_gpu(Gpu& gpu, const DeviceContext& context, Stream stream,
                             const Kernel& kernel, LaunchShape shape) {
    return GpuLauncher<Compiler::runs_on_gpu>::launch(gpu, context, stream, kernel, shape);
  }

  template <class Kernel>
  static Result<void> on_emulator(const Options& options, const DeviceContext& context,
                                  const WaitClock& clock, ProgressEngine* progress,
                                  const Kernel& kernel, LaunchShape shape, const KernelSpan& span) {
    if constexpr (Compiler::runs_on_cpu) {
      sim::StackOptions stacks;
      stacks.bytes = sim::kStackFactor * options.emulator_stack;
      BlocksOfSpan blocks(span);
      sim::BlockObserver* const observer = span.is_traced() ? &blocks : nullptr;
      return sim::launch(
          shape, {options.emulator_workers, stacks, context.my_pe, &clock, progress, observer},
          [&kernel, &context](sim::HostMachine& machine) {
            Pe<sim::HostMachine> pe(machine, context);
            kernel(pe);
          });
    } else {
      return Error(Code::unavailable,
                   "this kernel was compiled for GPUs only (GDAKIT_ON_GPU_ONLY), and this PE has "
                   "none");
    }
  }
};

}  // namespace detail

template <class Compiler>
Result<std::unique_ptr<Context>> init() {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  return detail::init(*options, Compiler::runs_on_gpu);
}

template <class Compiler>
Result<std::unique_ptr<Context>> init(const Options& options) {
  return detail::init(options, Compiler::runs_on_gpu);
}

template <class Compiler>
Result<std::unique_ptr<Context>> init(const Options& options, const UniqueId& id, int rank,
                                      int n_pes) {
  return detail::init(options, id, rank, n_pes, Compiler::runs_on_gpu);
}

template <class Compiler>
Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main) {
  return detail::run_in_process(n_pes, options, pe_main, Compiler::runs_on_gpu);
}

}  // namespace gdakit

#endif  // C++17

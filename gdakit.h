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

#include "backends/registry.h"
#include "core/host/bootstrap_open.h"
#include "core/host/context.h"
#include "core/host/job.h"
#include "device/pe.h"
#include "sim/emulator.h"

namespace gdakit {

// Collective. This process as one PE of the job that started it (`gdakit run`), or as a job of one.
// `options` default to the environment's.
Result<std::unique_ptr<Context>> init();
Result<std::unique_ptr<Context>> init(const Options& options);

// Runs `pe_main` on `n_pes` PEs that are threads of this process, with the backend that the options
// name.
Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main);

template <class Kernel>
Result<void> Context::launch(const Kernel& kernel, LaunchShape shape) {
  const DeviceContext device = device_context();
  Result<void> ran = sim::launch(shape, {.workers = options_.emulator_workers, .stacks = {}},
                                 [&kernel, &device](sim::HostMachine& machine) {
                                   Pe<sim::HostMachine> pe(machine, device);
                                   kernel(pe);
                                 });
  if (!ran) return ran.error().within("launch on PE " + std::to_string(my_pe()));
  return check_device();
}

}  // namespace gdakit

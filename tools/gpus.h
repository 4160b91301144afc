// Which GPUs the PEs of a job get.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/gpu/gpu.h"

namespace gdakit::tools {

// What `--gpus` means here: CUDA device numbers separated by commas, or "all" of the report.
// Errors: not such a list; a GPU that the report does not have, where it has any; no GPU for "all".
Result<std::vector<std::uint32_t>> parse_gpus(const std::string& text, const GpuReport& report);

// The GPUs of PEs to which --gpus says nothing, by these options: those of GDAKIT_GPUS, else all of
// this host; none where kernels run on the CPU. Not `certain`: if the program uses any.
struct GpusTaken {
  std::vector<std::uint32_t> gpus;
  bool certain = false;
};
GpusTaken gpus_taken(const Options& options, const GpuReport& report);

// The PCI addresses of the GPUs that PEs take by their local ranks, of those that are present: PE r
// takes entry r modulo their count. One "" where there is none.
std::vector<std::string> buses_of_pes(const Options& options, const std::vector<GpuInfo>& present);

// As GDAKIT_GPUS has it: PE r takes entry r modulo their count.
std::string gpus_text(const std::vector<std::uint32_t>& gpus);

// How many PEs of a job of `size` the GPU has that has most; 0 if there is none.
int most_on_one(const std::vector<std::uint32_t>& gpus, int size);

// "4 PEs share GPU 0", of the GPU that has most PEs of a job of `size`; empty if none has two.
std::string sharing_text(const std::vector<std::uint32_t>& gpus, int size);

}  // namespace gdakit::tools

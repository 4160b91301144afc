// Figures as lines for programs, in the form of NVSHMEM's perftests where
// NVSHMEM_MACHINE_READABLE_OUTPUT is set, which scripts for those read:
//
//   &&&& PERF collectives_bench___sync_2_PEs___size__4___block 7.310000 -us
//
// bench, table, size, column, figure, unit. The sign is - where less is better, which are times.
#pragma once

#include <cstdio>

#include "bench/report.h"

namespace gdakit::bench {

// A line for each number of a table whose first column is the size. Other tables have none.
void print_perf_lines(const Report& report, std::FILE* to);

}  // namespace gdakit::bench

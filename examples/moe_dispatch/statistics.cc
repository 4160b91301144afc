#include "examples/moe_dispatch/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace moe {
namespace {

void print_row(std::size_t pe, const PeStatistics& row) {
  std::printf("%4zu %8" PRIu64 " %14" PRIu64 " %18" PRIu64 " %13" PRIu64 " %15" PRIu64 " %8" PRIu64
              " %10" PRIu64 " %8" PRIu64 " %8.2f\n",
              pe, row.tokens, row.messages_sent, row.messages_received, row.nic.bytes_sent,
              row.nic.bytes_received, row.nic.wqes, row.nic.doorbells, row.nic.cqes, row.seconds);
}

}  // namespace

void print_table(std::span<const PeStatistics> all, std::uint32_t experts) {
  std::printf("%4s %8s %14s %18s %13s %15s %8s %10s %8s %8s\n", "PE", "tokens", "messages sent",
              "messages received", "bytes sent", "bytes received", "WQEs", "doorbells", "CQEs",
              "seconds");
  std::uint64_t messages = 0;
  std::uint64_t least = all[0].least_load;
  std::uint64_t greatest = 0;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    print_row(pe, all[pe]);
    messages += all[pe].messages_received;
    least = std::min(least, all[pe].least_load);
    greatest = std::max(greatest, all[pe].greatest_load);
  }
  const double mean = static_cast<double>(messages) / experts;
  std::printf("load of an expert: min %" PRIu64 ", max %" PRIu64
              ", mean %.1f messages; the busiest has %.2f times the mean\n",
              least, greatest, mean, static_cast<double>(greatest) / mean);
}

}  // namespace moe

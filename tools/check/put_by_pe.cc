#include "tools/check/put_by_pe.h"

#include <vector>

#include "backends/mlx5/mlx5_backend.h"
#include "core/host/run_in_process.h"
#include "host_calls/host_calls.h"

namespace gdakit::tools::check {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kHeapBytes = std::uint64_t{4} << 20;

Options options_of(const Options& given, const PePut& put) {
  Options options = given;
  options.backend = BackendChoice::mlx5;
  options.launcher = LauncherChoice::none;
  options.rank.reset();
  options.size.reset();
  options.local_rank.reset();
  options.hca_list = put.nic + ":" + std::to_string(put.port);
  options.hca_map.clear();
  options.nics_per_pe = 1;
  options.transport = TransportChoice::nic;
  options.device = put.gpu ? DeviceChoice::gpu : DeviceChoice::cpu;
  options.nic_handler = put.handler;
  options.gpus.clear();
  if (put.gpu) options.gpus = {static_cast<std::uint32_t>(*put.gpu)};
  options.symmetric_size = options.heap_chunk = kHeapBytes;
  options.watchdog = put.limit;
  return options;
}

Result<void> put_and_compare(Context& context, std::uint64_t bytes, std::uint8_t seed) {
  const Result<std::uint8_t*> from = context.allocate<std::uint8_t>(bytes);
  if (!from) return from.error();
  const Result<std::uint8_t*> to = context.allocate<std::uint8_t>(bytes);
  if (!to) return to.error();
  std::vector<std::uint8_t> sent(bytes), got(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    sent[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8) + seed);
    got[i] = static_cast<std::uint8_t>(~sent[i]);
  }
  if (auto done = context.upload(*from, sent.data(), bytes); !done) return done;
  if (auto done = context.upload(*to, got.data(), bytes); !done) return done;
  const HostCalls calls = HostCalls::blocking(context);
  if (auto done = calls.put_bytes_nbi(*to, *from, bytes, context.my_pe()); !done) return done;
  if (auto done = calls.quiet(); !done) return done;
  if (auto done = context.download(got.data(), *to, bytes); !done) return done;
  if (sent == got) return {};
  return Error(Code::internal, "the NIC reports success, and bytes are wrong of " +
                                   std::to_string(bytes) + " that were put");
}

}  // namespace

Result<void> put_by_pe(const Options& given, const PePut& put) {
  const Options options = options_of(given, put);
  if (auto good = options.validate(); !good) return good;
  const std::unique_ptr<BackendProvider> provider = mlx5::make_provider();
  return run_in_process(
      1, options, *provider,
      [](Context& context) -> Result<void> {
        if (auto done = put_and_compare(context, 8, 1); !done) return done;
        return put_and_compare(context, kMostBytes, 2);
      },
      /*kernels_for_gpu=*/put.gpu.has_value());
}

}  // namespace gdakit::tools::check

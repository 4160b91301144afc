#include "gdakit.h"

namespace gdakit::detail {
namespace {

Result<std::unique_ptr<Context>> make_context(const Options& options,
                                              Result<std::unique_ptr<Bootstrap>> bootstrap,
                                              bool kernels_for_gpu) {
  if (!bootstrap) return bootstrap.error();
  const JobKind kind = (*bootstrap)->size() == 1 ? JobKind::in_process : JobKind::processes;
  Result<std::unique_ptr<BackendProvider>> provider = make_backend_provider(options, kind);
  if (!provider) {
    (*bootstrap)->abort(provider.error().message());
    return provider.error();
  }
  return Context::create(options, std::move(*bootstrap), **provider, kernels_for_gpu);
}

}  // namespace

Result<std::unique_ptr<Context>> init(const Options& options, bool kernels_for_gpu) {
  return make_context(options, open_bootstrap(options), kernels_for_gpu);
}

Result<std::unique_ptr<Context>> init(const Options& options, const UniqueId& id, int rank,
                                      int n_pes, bool kernels_for_gpu) {
  return make_context(options, open_bootstrap(options, id, rank, n_pes), kernels_for_gpu);
}

Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main,
                            bool kernels_for_gpu) {
  Result<std::unique_ptr<BackendProvider>> provider =
      make_backend_provider(options, JobKind::in_process);
  if (!provider) return provider.error();
  return gdakit::run_in_process(n_pes, options, **provider, pe_main, kernels_for_gpu);
}

}  // namespace gdakit::detail

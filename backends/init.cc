#include "core/host/launch_info.h"
#include "gdakit.h"

namespace gdakit::detail {

Result<std::unique_ptr<Context>> init(const Options& options, bool kernels_for_gpu) {
  Result<std::unique_ptr<Bootstrap>> bootstrap = open_bootstrap(options);
  if (!bootstrap) return bootstrap.error();
  const JobKind kind = (*bootstrap)->size() == 1 ? JobKind::in_process : JobKind::processes;
  Result<std::unique_ptr<BackendProvider>> provider = make_backend_provider(options, kind);
  if (!provider) {
    (*bootstrap)->abort(provider.error().message());
    return provider.error();
  }
  return Context::create(options, std::move(*bootstrap), **provider, kernels_for_gpu);
}

Result<void> run_in_process(int n_pes, const Options& options, const PeMain& pe_main,
                            bool kernels_for_gpu) {
  Result<std::unique_ptr<BackendProvider>> provider =
      make_backend_provider(options, JobKind::in_process);
  if (!provider) return provider.error();
  return gdakit::run_in_process(n_pes, options, **provider, pe_main, kernels_for_gpu);
}

}  // namespace gdakit::detail

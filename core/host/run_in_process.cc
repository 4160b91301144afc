#include "core/host/run_in_process.h"

#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/host/bootstrap/local_bootstrap.h"

namespace gdakit {
namespace {

// Most of a PE's own errors begin with its name.
bool names(const std::string& message, const std::string& who) {
  return message.starts_with(who + " ") || message.starts_with(who + ":");
}

// The error of the PE that failed first.
class FirstFailure {
 public:
  void note(int pe, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    const std::string who = "PE " + std::to_string(pe);
    error_ = names(error.message(), who) ? error : error.within(who);
  }

  Result<void> result() const { return error_ ? Result<void>(*error_) : Result<void>(); }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
};

Result<void> run_pe(const Options& options, std::unique_ptr<Bootstrap> bootstrap,
                    BackendProvider& provider, const PeMain& pe_main, bool kernels_for_gpu,
                    FirstFailure& failure) {
  const int rank = bootstrap->rank();
  Result<std::unique_ptr<Context>> context =
      Context::create(options, std::move(bootstrap), provider, kernels_for_gpu);
  if (!context) {
    failure.note(rank, context.error());
    return context.error();
  }
  Result<void> done = pe_main(**context);
  if (!done) {
    failure.note(rank, done.error());
    (*context)->abort(done.error().message());
  }
  return done;
}

}  // namespace

Result<void> run_in_process(int n_pes, const Options& options, BackendProvider& provider,
                            const PeMain& pe_main, bool kernels_for_gpu) {
  Result<std::vector<std::unique_ptr<Bootstrap>>> bootstraps =
      make_local_bootstraps(n_pes, options.timeout);
  if (!bootstraps) return bootstraps.error();
  FirstFailure failure;
  std::vector<std::thread> threads;
  try {
    for (std::unique_ptr<Bootstrap>& bootstrap : *bootstraps) {
      threads.emplace_back([&, mine = std::move(bootstrap)]() mutable {
        // The failure is noted inside; the thread has nobody else to tell.
        static_cast<void>(
            run_pe(options, std::move(mine), provider, pe_main, kernels_for_gpu, failure));
      });
    }
  } catch (const std::system_error& error) {
    failure.note(static_cast<int>(threads.size()),
                 Error::from_errno("there is no thread for it", error.code().value()));
    bootstraps->clear();  // so that the PEs that are there do not wait for the others
  }
  for (std::thread& thread : threads) thread.join();
  return failure.result();
}

}  // namespace gdakit

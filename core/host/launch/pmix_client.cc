#include "core/host/launch/pmix_client.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <mutex>
#include <pmix.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "core/base/library_thread.h"
#include "core/base/seconds_text.h"

namespace gdakit {
namespace {

// For the server of this host to take leave of a process that exits.
constexpr std::chrono::seconds kLeavePatience{5};

// The few functions that are needed, named as in pmix.h.
struct Library {
  decltype(&::PMIx_Init) init = nullptr;
  decltype(&::PMIx_Finalize) finalize = nullptr;
  decltype(&::PMIx_Put) put = nullptr;
  decltype(&::PMIx_Commit) commit = nullptr;
  decltype(&::PMIx_Fence) fence = nullptr;
  decltype(&::PMIx_Get) get = nullptr;
  decltype(&::PMIx_Abort) abort = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
};

Result<Library> load_library() {
  // Never unloaded: it has a thread of its own.
  void* const handle = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    return Error(Code::unavailable, std::string("libpmix.so.2 cannot be loaded: ") + ::dlerror() +
                                        "; install it (Debian: libpmix2), or put the launcher's "
                                        "own into LD_LIBRARY_PATH");
  }
  Library library;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    complete = complete && function != nullptr;
  };
  find(library.init, "PMIx_Init");
  find(library.finalize, "PMIx_Finalize");
  find(library.put, "PMIx_Put");
  find(library.commit, "PMIx_Commit");
  find(library.fence, "PMIx_Fence");
  find(library.get, "PMIx_Get");
  find(library.abort, "PMIx_Abort");
  find(library.error_string, "PMIx_Error_string");
  if (complete) return library;
  return Error(Code::unavailable, "libpmix.so.2 lacks a function of PMIx 2; install a newer one");
}

// One call into PMIx, made by a thread of its own, because PMIx has no limit of time by itself.
struct Call {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  pmix_status_t status = PMIX_SUCCESS;
};

// What PMIx returned; nothing if it has not within `timeout`. `body` may outlive this function.
std::optional<pmix_status_t> call_within(std::chrono::milliseconds timeout,
                                         std::function<pmix_status_t()> body) {
  const auto call = std::make_shared<Call>();
  start_library_thread([call, body = std::move(body)] {
    const pmix_status_t status = body();
    const std::lock_guard lock(call->mutex);
    call->status = status;
    call->done = true;
    call->ended.notify_one();
  }).detach();
  std::unique_lock lock(call->mutex);
  if (!call->ended.wait_for(lock, timeout, [&] { return call->done; })) return {};
  return call->status;
}

// The one connection of this process. Serves one thread at a time.
class Client {
 public:
  Result<void> open(std::chrono::milliseconds timeout);
  ~Client();

  Result<PmixJob> job(std::chrono::milliseconds timeout);
  Result<std::string> broadcast(const std::string& text, std::chrono::milliseconds timeout);
  Result<void> abort(int status, const std::string& why, std::chrono::milliseconds timeout);
  std::mutex& mutex() { return mutex_; }

 private:
  Result<void> call(const char* name, const std::string& waits_for,
                    std::chrono::milliseconds timeout, std::function<pmix_status_t()> body);
  Result<std::uint32_t> number(pmix_proc_t of, const char* key, std::chrono::milliseconds timeout);
  pmix_proc_t process(pmix_rank_t rank) const {
    pmix_proc_t process = myself_;
    process.rank = rank;
    return process;
  }

  std::mutex mutex_;
  Library library_;
  pmix_proc_t myself_{};
  pid_t opened_by_ = 0;  // none: not open
  bool stuck_ = false;   // a thread has not come back from PMIx
  int broadcasts_ = 0;
};

Client& client() {
  static Client the_client;
  return the_client;
}

// A forked child has no server, and a thread that is stuck would never let go.
Client::~Client() {
  if (opened_by_ != ::getpid() || stuck_) return;
  call_within(kLeavePatience, [finalize = library_.finalize] { return finalize(nullptr, 0); });
}

Result<void> Client::call(const char* name, const std::string& waits_for,
                          std::chrono::milliseconds timeout, std::function<pmix_status_t()> body) {
  if (stuck_) return Error(Code::aborted, "an earlier call of PMIx has never ended");
  std::optional<pmix_status_t> status;
  try {
    status = call_within(timeout, std::move(body));
  } catch (const std::system_error& error) {
    return Error(Code::system, std::string(name) + ": no thread for it: " + error.what());
  }
  if (status == PMIX_SUCCESS) return {};
  if (!status) {
    stuck_ = true;
    return Error(Code::timed_out, std::string(name) + " did not end within " +
                                      seconds_text(timeout) + " (GDAKIT_TIMEOUT): waited for " +
                                      waits_for);
  }
  return Error(Code::system, std::string(name) + " failed: " + library_.error_string(*status) +
                                 ", waiting for " + waits_for);
}

Result<void> Client::open(std::chrono::milliseconds timeout) {
  if (opened_by_ == ::getpid()) return {};
  if (opened_by_ != 0) {
    return Error(Code::unavailable,
                 "PMIx was opened before this process was forked; use it in "
                 "the process that the launcher started");
  }
  Result<Library> library = load_library();
  if (!library) return library.error();
  library_ = *library;
  const auto myself = std::make_shared<pmix_proc_t>();
  Result<void> opened =
      call("PMIx_Init", "the PMIx server of this host", timeout,
           [init = library_.init, myself] { return init(myself.get(), nullptr, 0); });
  if (!opened) return opened;
  myself_ = *myself;
  opened_by_ = ::getpid();
  return {};
}

Result<std::uint32_t> Client::number(pmix_proc_t of, const char* key,
                                     std::chrono::milliseconds timeout) {
  const auto value = std::make_shared<pmix_value_t*>(nullptr);
  Result<void> got =
      call("PMIx_Get", std::string(key) + " from the PMIx server of this host", timeout,
           [get = library_.get, of, key, value] { return get(&of, key, nullptr, 0, value.get()); });
  if (!got) return got.error();
  const pmix_value_t found = **value;
  std::free(*value);
  switch (found.type) {
    case PMIX_UINT16: return std::uint32_t{found.data.uint16};
    case PMIX_UINT32: return found.data.uint32;
    case PMIX_PROC_RANK: return found.data.rank;
    default: break;
  }
  return Error(Code::system, std::string("PMIx_Get: ") + key + " is no number");
}

Result<PmixJob> Client::job(std::chrono::milliseconds timeout) {
  if (Result<void> opened = open(timeout); !opened) return opened.error();
  const Result<std::uint32_t> size = number(process(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE, timeout);
  if (!size) return size.error();
  PmixJob job;
  job.rank = static_cast<int>(myself_.rank);
  job.size = static_cast<int>(*size);
  // Servers need not know these two.
  const Result<std::uint32_t> local = number(process(myself_.rank), PMIX_LOCAL_RANK, timeout);
  if (local) job.local_rank = static_cast<int>(*local);
  const Result<std::uint32_t> here = number(process(PMIX_RANK_WILDCARD), PMIX_LOCAL_SIZE, timeout);
  job.one_host = here && *here == *size;
  return job;
}

// A value that PE 0 has put, once all PEs have met.
Result<std::string> Client::broadcast(const std::string& text, std::chrono::milliseconds timeout) {
  if (Result<void> opened = open(timeout); !opened) return opened.error();
  // The server keeps what was put before.
  const std::string key = "gdakit." + std::to_string(broadcasts_++);
  const bool root = myself_.rank == 0;
  Result<void> met = call("PMIx_Fence", "every PE of the job to come to its init", timeout,
                          [library = library_, key, text, root] {
                            if (root) {
                              pmix_value_t value{};
                              value.type = PMIX_STRING;
                              value.data.string = const_cast<char*>(text.c_str());
                              const pmix_status_t put =
                                  library.put(PMIX_GLOBAL, key.c_str(), &value);
                              if (put != PMIX_SUCCESS) return put;
                              const pmix_status_t committed = library.commit();
                              if (committed != PMIX_SUCCESS) return committed;
                            }
                            pmix_info_t collect{};
                            std::strncpy(collect.key, PMIX_COLLECT_DATA, sizeof(collect.key) - 1);
                            collect.value.type = PMIX_BOOL;
                            collect.value.data.flag = true;
                            return library.fence(nullptr, 0, &collect, 1);
                          });
  if (!met) return met.error();
  const auto value = std::make_shared<pmix_value_t*>(nullptr);
  Result<void> got = call("PMIx_Get", "what PE 0 has published", timeout,
                          [get = library_.get, of = process(0), key, value] {
                            return get(&of, key.c_str(), nullptr, 0, value.get());
                          });
  if (!got) return got.error();
  const std::unique_ptr<pmix_value_t, decltype(&std::free)> owner(*value, std::free);
  if (owner->type != PMIX_STRING) return Error(Code::system, "PMIx_Get: PE 0 published no text");
  const std::unique_ptr<char, decltype(&std::free)> published(owner->data.string, std::free);
  return std::string(published.get());
}

Result<void> Client::abort(int status, const std::string& why, std::chrono::milliseconds timeout) {
  if (opened_by_ != ::getpid()) {
    return Error(Code::unavailable, "this process has not opened PMIx");
  }
  return call(
      "PMIx_Abort", "the launcher to end the job", timeout,
      [abort = library_.abort, status, why] { return abort(status, why.c_str(), nullptr, 0); });
}

}  // namespace

Result<PmixJob> find_pmix_job(std::chrono::milliseconds timeout) {
  const std::lock_guard lock(client().mutex());
  return client().job(timeout);
}

Result<void> abort_over_pmix(int status, const std::string& why,
                             std::chrono::milliseconds timeout) {
  const std::lock_guard lock(client().mutex());
  return client().abort(status, why, timeout);
}

Result<std::string> broadcast_over_pmix(const std::string& text,
                                        std::chrono::milliseconds timeout) {
  const std::lock_guard lock(client().mutex());
  return client().broadcast(text, timeout);
}

}  // namespace gdakit

// What a process has of gdakit under NVSHMEM's names: one context, made by the first init, gone
// with the last finalize.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unistd.h>

#include "gdakit.h"
#include "nvshmem/detail/collectives.h"
#include "nvshmem/detail/mpi_by_name.h"
#include "nvshmem/detail/setup.h"
#include "nvshmem/library/state.h"
#include "nvshmem/library/variables.h"

namespace gdakit::nvshmem {
namespace {

// Programs that nvcc compiled have kernels for a GPU, and cannot do without one.
bool has_gpu_kernels() { return library().modules != nullptr; }

// Gives the modules from `first` on their copies of the PE's state, unless they have them: a copy
// waits for the kernels of the streams that wait for the default one.
Result<void> fill(Module* first, const Module* end) {
  Library& all = library();
  if (Result<void> current = all.context->gpu()->make_current(); !current) return current;
  for (Module* module = first; module != end; module = module->next) {
    const int error = module->current ? 0 : module->fill(all.device_context);
    module->current = error == 0;
    if (module->current) continue;
    return Error(Code::system, "CUDA error " + std::to_string(error) +
                                   " while a file's kernels got their copy of the PE's state; were "
                                   "they compiled for " +
                                   all.context->device_name() + "?");
  }
  return {};
}

// The copies that differ from it are no longer current. The modules' mutex is held.
void set_device_context(const DeviceContext& context) {
  Library& all = library();
  if (std::memcmp(&context, &all.device_context, sizeof(context)) == 0) return;
  std::memcpy(&all.device_context, &context, sizeof(context));
  for (Module* module = all.modules; module != nullptr; module = module->next) {
    module->current = false;
  }
}

using Made = Result<std::unique_ptr<Context>>;

Made make_by_launcher(const Options& options, bool for_gpu) {
  return gdakit::detail::init(options, for_gpu);
}

Made make_by_id(const Options& options, bool for_gpu, const nvshmemx_uniqueid_args_t& args) {
  if (args.id == nullptr) {
    return Error(Code::invalid_argument,
                 "the attributes have no unique id; set them by "
                 "nvshmemx_set_attr_uniqueid_args");
  }
  UniqueId id;
  std::memcpy(&id, args.id, sizeof(id));
  return gdakit::detail::init(options, id, args.myrank, args.nranks, for_gpu);
}

Result<UniqueId> make_id() {
  const Result<Options> options = options_of_environment();
  if (!options) return options.error();
  return make_unique_id(*options);
}

Made make_by_mpi(const Options& options, bool for_gpu, void* communicator) {
  UniqueId id;
  const Result<MpiPlace> place = share_by_mpi(communicator, &id, make_id);
  if (!place) return place.error();
  return gdakit::detail::init(options, id, place->rank, place->size, for_gpu);
}

// The GPU that the attributes name, if GDAKIT_GPUS names none. Attributes that no initializer made
// may hold anything.
void choose_gpu(Options& options, const nvshmemx_init_attr_t* attributes) {
  if (attributes == nullptr || attributes->args.version != NVSHMEMX_INIT_ARGS_VERSION) return;
  if (!options.gpus.empty() || attributes->args.cuda_device_id < 0) return;
  options.gpus = {static_cast<std::uint32_t>(attributes->args.cuda_device_id)};
}

constexpr unsigned int kKnownFlags =
    NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_WITH_SHMEM;

Result<void> check(unsigned int flags, const nvshmemx_init_attr_t* attributes) {
  if ((flags & ~kKnownFlags) != 0) {
    return Error(Code::invalid_argument, "flags " + std::to_string(flags) +
                                             " are not known; one of NVSHMEMX_INIT_WITH_MPI_COMM, "
                                             "NVSHMEMX_INIT_WITH_UNIQUEID, or 0");
  }
  if ((flags & NVSHMEMX_INIT_WITH_UNIQUEID) == 0 || attributes != nullptr) return {};
  return Error(Code::invalid_argument, "the attributes are null, which have the unique id");
}

// Kernels that nvcc has compiled need a GPU; a test of them does not.
Error with_remedy(const Error& error) {
  if (!has_gpu_kernels() || !report_gpus().gpus.empty()) return error;
  return Error(error.code(),
               error.message() +
                   "; for a test without a GPU write the kernel as a callable and run it by "
                   "gdakit::nvshmem::emulate (nvshmem/emulate.h, docs/nvshmem.md)",
               error.system_code());
}

Made make(unsigned int flags, const nvshmemx_init_attr_t* attributes) {
  Result<Options> options = options_of_environment();
  if (!options) return options.error();
  // Without kernels a program does on the emulator what it does on a GPU.
  const bool for_gpu =
      has_gpu_kernels() || !library().emulates || options->device == DeviceChoice::gpu;
  if (has_gpu_kernels() && options->device == DeviceChoice::automatic) {
    options->device = DeviceChoice::gpu;
  }
  if (has_gpu_kernels() && options->device == DeviceChoice::cpu) {
    Log(options->log)
        .warn("GDAKIT_DEVICE=cpu: kernels that nvcc has compiled do not run on the emulator");
  }
  if (for_gpu) choose_gpu(*options, attributes);
  if ((flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0) {
    return make_by_mpi(*options, for_gpu, attributes == nullptr ? nullptr : attributes->mpi_comm);
  }
  if ((flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0) {
    return make_by_id(*options, for_gpu, attributes->args.uid_args);
  }
  if ((flags & NVSHMEMX_INIT_WITH_SHMEM) != 0) {
    return Error(Code::unavailable,
                 "gdakit does not start from OpenSHMEM; use a launcher with PMIx, "
                 "an MPI communicator or a unique id");
  }
  const bool free_to_choose = !options->rank && options->launcher == LauncherChoice::automatic;
  if (free_to_choose && asks_for_mpi(environment_variables()) && has_mpi()) {
    return make_by_mpi(*options, for_gpu, nullptr);
  }
  return make_by_launcher(*options, for_gpu);
}

// What the environment asks a job to say, said once.
void introduce(const Context& context) {
  if (context.my_pe() != 0) return;
  const std::string text = introduction(environment_variables(), context.options());
  if (!text.empty()) Log(LogLevel::info, 0).info(text);
}

}  // namespace

// Never destroyed: what the program registers by atexit() may use it, and other threads may be in
// calls when it ends.
Library& library() {
  static Library* const the_library = new Library;
  return *the_library;
}

void refresh() {
  Library& all = library();
  Result<void> filled;
  {
    const std::lock_guard lock(all.mutex);  // not held by fail(): the program's end removes modules
    set_device_context(all.context->device_context());
    if (all.context->on_gpu()) filled = fill(all.modules, nullptr);
  }
  require("nvshmem", filled);
}

Result<void> start(unsigned int flags, const nvshmemx_init_attr_t* attributes) {
  Library& all = library();
  if (Result<void> good = check(flags, attributes); !good) return good;
  if (all.inits++ > 0) {
    refresh();  // libraries that were loaded meanwhile may have kernels
    return {};
  }
  Made made = make(flags, attributes);
  if (!made) {
    --all.inits;
    return with_remedy(made.error());
  }
  all.context = std::move(*made);
  all.process = ::getpid();
  introduce(*all.context);
  watch_exit();
  refresh();
  return {};
}

// Of a library that is loaded after init the runtime may not know the variables yet: then the next
// init or allocation gives it the state.
void add_module(Module* module) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  module->next = all.modules;
  all.modules = module;
  if (all.context == nullptr) return;
  if (all.context->on_gpu()) {
    static_cast<void>(fill(module, module->next));
  } else {
    std::fprintf(stderr,
                 "gdakit: a library with kernels for a GPU was loaded after nvshmem_init, which "
                 "had taken the CPU emulator; load it before, or set GDAKIT_DEVICE=gpu\n");
  }
}

bool expect_emulated_kernels() { return library().emulates = true; }

void remove_module(Module* module) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  for (Module** at = &all.modules; *at != nullptr; at = &(*at)->next) {
    if (*at != module) continue;
    *at = module->next;
    return;
  }
}

Context& context(const char* call) {
  if (library().context == nullptr) {
    fail(call, Error(Code::invalid_argument,
                     "there is no PE: call nvshmem_init first, and nothing "
                     "after nvshmem_finalize"));
  }
  return *library().context;
}

const DeviceContext* device_context() {
  return library().context == nullptr ? nullptr : &library().device_context;
}

void fail(const char* call, const Error& error) {
  const std::string text = std::string(call) + ": " + error.message();
  std::fprintf(stderr, "gdakit: %s\n", text.c_str());
  abandon_job(text);
  std::exit(EXIT_FAILURE);
}

int status_of(const char* call, const Result<void>& done) {
  if (done) return NVSHMEMX_SUCCESS;
  std::fprintf(stderr, "gdakit: %s: %s\n", call, done.error().message().c_str());
  switch (done.error().code()) {
    case Code::invalid_argument: return NVSHMEMX_ERROR_INVALID_VALUE;
    case Code::exhausted: return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    case Code::unavailable: return NVSHMEMX_ERROR_NOT_SUPPORTED;
    default: return NVSHMEMX_ERROR_INTERNAL;
  }
}

int status_of_device(const char* call, const Result<void>& done) {
  const Result<void> reported = done ? Result<void>() : context(call).check_device();
  const bool told =
      !reported && done.error().message().find(reported.error().message()) != std::string::npos;
  if (told) context(call).clear_reports();
  return status_of(call, done);
}

void* direct_address(const void* dest, int pe) {
  return context("nvshmem_ptr").ptr(const_cast<void*>(dest), pe);
}

namespace {

Result<void> on_stream(const char* call, const Collective& what, Stream stream) {
  return enqueue(context(call), stream, what.operation());
}

Result<void> now(const char* call, const Collective& what) {
  Context& here = context(call);
  if (auto queued = on_stream(call, what, here.stream()); !queued) return queued;
  return here.synchronize(here.stream());
}

}  // namespace

int collect_on_stream(const char* call, const Collective& what, Stream stream) {
  return status_of(call, on_stream(call, what, stream));
}
int collect_now(const char* call, const Collective& what) {
  return status_of_device(call, now(call, what));
}
void meet_on_stream(const char* call, const Collective& what, Stream stream) {
  require(call, on_stream(call, what, stream));
}
void meet_now(const char* call, const Collective& what) { require(call, now(call, what)); }

int host_team_my_pe(nvshmem_team_t team) {
  return context("nvshmem_team_my_pe").team_my_pe(Team{team});
}
int host_team_n_pes(nvshmem_team_t team) {
  return context("nvshmem_team_n_pes").team_n_pes(Team{team});
}
int host_team_translate_pe(nvshmem_team_t team, int pe, nvshmem_team_t in) {
  return context("nvshmem_team_translate_pe").team_translate_pe(Team{team}, pe, Team{in});
}

}  // namespace gdakit::nvshmem

namespace nv = gdakit::nvshmem;

void nvshmem_init() { nv::require("nvshmem_init", nv::start(0, nullptr)); }

int nvshmem_init_thread(int requested, int* provided) {
  static_cast<void>(requested);
  nv::require("nvshmem_init_thread", nv::start(0, nullptr));
  nvshmem_query_thread(provided);
  return NVSHMEMX_SUCCESS;
}

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t* attributes) {
  return nv::status_of("nvshmemx_init_attr", nv::start(flags, attributes));
}

int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t* attributes) {
  return nv::status_of("nvshmemx_hostlib_init_attr", nv::start(flags, attributes));
}

int nvshmemx_init_status() {
  return nv::library().context == nullptr ? NVSHMEM_STATUS_NOT_INITIALIZED
                                          : NVSHMEM_STATUS_IS_INITIALIZED;
}

void nvshmem_finalize() {
  nv::Library& all = nv::library();
  if (nv::is_ending()) return;
  if (all.inits == 0) {
    nv::fail("nvshmem_finalize",
             gdakit::Error(gdakit::Code::invalid_argument, "there was no init before it"));
  }
  if (--all.inits > 0) return;
  nvshmem_barrier_all();
  if (gdakit::Result<void> well = all.context->check_device(); !well) {
    nv::fail("nvshmem_finalize", well.error());
  }
  all.context.reset();
  all.device_context = {};  // no file's copy is current in the next init
  nv::leave_mpi();
  all.aligned.clear();
  all.buffers.clear();
}

void nvshmemx_hostlib_finalize() { nvshmem_finalize(); }

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id) {
  const gdakit::Result<gdakit::UniqueId> made = nv::make_id();
  if (!made) return nv::status_of("nvshmemx_get_uniqueid", made.error());
  static_assert(sizeof(*id) == sizeof(*made));
  std::memcpy(id, &*made, sizeof(*id));
  return NVSHMEMX_SUCCESS;
}

int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attributes) {
  nvshmemx_uniqueid_args_t args = NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
  args.id = const_cast<nvshmemx_uniqueid_t*>(id);
  args.myrank = myrank;
  args.nranks = nranks;
  attributes->args.uid_args = args;
  return NVSHMEMX_SUCCESS;
}

int nvshmemx_set_attr_mpi_comm_args(void* mpi_comm, nvshmemx_init_attr_t* attributes) {
  attributes->mpi_comm = mpi_comm;
  return NVSHMEMX_SUCCESS;
}

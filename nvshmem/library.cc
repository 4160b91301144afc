// What a process has of gdakit under NVSHMEM's names: one context, made by the first init, gone
// with the last finalize.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gdakit.h"
#include "nvshmem/detail/collectives.h"
#include "nvshmem/detail/mpi_by_name.h"
#include "nvshmem/detail/setup.h"
#include "nvshmem/state.h"
#include "nvshmem/variables.h"

namespace gdakit::nvshmem {
namespace {

// Programs that nvcc compiled have kernels for a GPU; others run host calls and emulated kernels.
bool has_gpu_kernels() { return library().modules != nullptr; }

void fill(const Module& module) {
  const int error = module.fill(library().device_context);
  if (error == 0) return;
  fail("nvshmem", Error(Code::system, "CUDA error " + std::to_string(error) +
                                          " while a module got its copy of the PE's state; is the "
                                          "current device the PE's (" +
                                          library().context->device_name() + ")?"));
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

Made make(unsigned int flags, const nvshmemx_init_attr_t* attributes) {
  Result<Options> options = options_of_environment();
  if (!options) return options.error();
  const bool for_gpu = has_gpu_kernels() || options->device == DeviceChoice::gpu;
  if (has_gpu_kernels() && options->device == DeviceChoice::automatic) {
    options->device = DeviceChoice::gpu;
  }
  if (for_gpu) choose_gpu(*options, attributes);
  if ((flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0 && attributes != nullptr) {
    return make_by_mpi(*options, for_gpu, attributes->mpi_comm);
  }
  if ((flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0 && attributes != nullptr) {
    return make_by_id(*options, for_gpu, attributes->args.uid_args);
  }
  if ((flags & NVSHMEMX_INIT_WITH_SHMEM) != 0) {
    return Error(Code::unavailable,
                 "gdakit does not start from OpenSHMEM; use a launcher with PMIx, "
                 "an MPI communicator or a unique id");
  }
  return make_by_launcher(*options, for_gpu);
}

}  // namespace

Library& library() {
  static Library the_library;
  return the_library;
}

void refresh() {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  all.device_context = all.context->device_context();
  if (!all.context->on_gpu()) return;
  require("nvshmem", all.context->gpu()->make_current());
  for (Module* module = all.modules; module != nullptr; module = module->next) fill(*module);
}

Result<void> start(unsigned int flags, const nvshmemx_init_attr_t* attributes) {
  Library& all = library();
  if (all.inits++ > 0) return {};
  Made made = make(flags, attributes);
  if (!made) {
    --all.inits;
    return made.error();
  }
  all.context = std::move(*made);
  refresh();
  return {};
}

void add_module(Module* module) {
  Library& all = library();
  const std::lock_guard lock(all.mutex);
  module->next = all.modules;
  all.modules = module;
  if (all.context != nullptr && all.context->on_gpu()) fill(*module);
}

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
  if (library().context != nullptr) library().context->abort(text);
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

void* direct_address(const void* dest, int pe) {
  return context("nvshmem_ptr").ptr(const_cast<void*>(dest), pe);
}

int collect_on_stream(const char* call, const Collective& what, Stream stream) {
  return status_of(call, enqueue(context(call), stream, what.operation()));
}

int collect_now(const char* call, const Collective& what) {
  Context& here = context(call);
  Result<void> done = enqueue(here, here.stream(), what.operation());
  if (done) done = here.synchronize(here.stream());
  return status_of(call, done);
}

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
  return nvshmem_query_thread(provided);
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
  all.aligned.clear();
  all.buffers.clear();
}

void nvshmemx_hostlib_finalize() { nvshmem_finalize(); }

void nvshmem_global_exit(int status) {
  if (nv::library().context != nullptr) {
    nv::library().context->abort("nvshmem_global_exit(" + std::to_string(status) + ")");
  }
  std::exit(status);
}

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

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = NVSHMEM_VENDOR_MAJOR_VERSION;
  *minor = NVSHMEM_VENDOR_MINOR_VERSION;
  *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

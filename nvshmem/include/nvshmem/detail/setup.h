// Names of set-up: init and finalize, memory, teams, collective launch.
#pragma once

#include "nvshmem/detail/device_or_host.h"

namespace gdakit::nvshmem {

int host_team_my_pe(nvshmem_team_t team);
int host_team_n_pes(nvshmem_team_t team);
int host_team_translate_pe(nvshmem_team_t team, int pe, nvshmem_team_t in);

}  // namespace gdakit::nvshmem

extern "C" {

// ---- Init and finalize. May be called several times; the last finalize ends the job's PE.

void nvshmem_init();
int nvshmem_init_thread(int requested, int* provided);
// With flags NVSHMEMX_INIT_WITH_MPI_COMM or NVSHMEMX_INIT_WITH_UNIQUEID, or 0 for nvshmem_init.
int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t* attributes);
int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t* attributes);
int nvshmemx_init_status();
void nvshmem_finalize();
void nvshmemx_hostlib_finalize();
int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id);
int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attributes);
int nvshmemx_set_attr_mpi_comm_args(void* mpi_comm, nvshmemx_init_attr_t* attributes);

// ---- Memory: collective, in the symmetric heap. 0 bytes give null; free takes null.

void* nvshmem_malloc(size_t size);
void* nvshmem_calloc(size_t count, size_t size);
void* nvshmem_align(size_t alignment, size_t size);
void nvshmem_free(void* memory);
int nvshmemx_buffer_register(void* address, size_t length);
int nvshmemx_buffer_unregister(void* address);
void nvshmemx_buffer_unregister_all();

// ---- Teams.

int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                               const nvshmem_team_config_t* config, long config_mask,
                               nvshmem_team_t* new_team);
int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t* x_config,
                          long x_config_mask, nvshmem_team_t* x_team,
                          const nvshmem_team_config_t* y_config, long y_config_mask,
                          nvshmem_team_t* y_team);
void nvshmem_team_destroy(nvshmem_team_t team);
void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t* config);

// -1 for a team that this PE is no member of.
GDAKIT_NVSHMEM_CALL int nvshmem_team_my_pe(nvshmem_team_t team) {
  return gdakit::nvshmem::ask_here(
      [&](auto& thread) { return thread.team(gdakit::Team{team}).my_pe(); },
      [&](auto) { return gdakit::nvshmem::host_team_my_pe(team); });
}
GDAKIT_NVSHMEM_CALL int nvshmem_team_n_pes(nvshmem_team_t team) {
  return gdakit::nvshmem::ask_here(
      [&](auto& thread) { return thread.team(gdakit::Team{team}).n_pes(); },
      [&](auto) { return gdakit::nvshmem::host_team_n_pes(team); });
}
GDAKIT_NVSHMEM_CALL int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe,
                                                  nvshmem_team_t dest_team) {
  return gdakit::nvshmem::ask_here(
      [&](auto& thread) {
        return thread.team(gdakit::Team{src_team}).translate(src_pe, gdakit::Team{dest_team});
      },
      [&](auto) { return gdakit::nvshmem::host_team_translate_pe(src_team, src_pe, dest_team); });
}
GDAKIT_NVSHMEM_CALL int nvshmem_my_pe() {
  return gdakit::nvshmem::ask_here(
      [](auto& thread) { return thread.my_pe(); },
      [](auto) { return gdakit::nvshmem::host_team_my_pe(NVSHMEM_TEAM_WORLD); });
}
GDAKIT_NVSHMEM_CALL int nvshmem_n_pes() {
  return gdakit::nvshmem::ask_here(
      [](auto& thread) { return thread.n_pes(); },
      [](auto) { return gdakit::nvshmem::host_team_n_pes(NVSHMEM_TEAM_WORLD); });
}

// Ends the job. In a kernel on a GPU it ends the kernel by a fault, so that the program's next call
// of CUDA fails: the status is told on stdout alone.
GDAKIT_NVSHMEM_CALL void nvshmem_global_exit(int status) {
  gdakit::nvshmem::ask_here(
      [&](auto& thread) { gdakit::nvshmem::exit_in_kernel(thread.my_pe(), status); },
      [&](auto) { gdakit::nvshmem::host_global_exit(status); });
}

// For loads and stores, or null. A PE reaches its own memory always, and that of direct peers.
GDAKIT_NVSHMEM_CALL void* nvshmem_ptr(const void* dest, int pe) {
  return gdakit::nvshmem::ask_here(
      [&](auto& thread) { return thread.ptr(const_cast<void*>(dest), pe); },
      [&](auto) { return gdakit::nvshmem::direct_address(dest, pe); });
}

// What is stored there would go to all PEs of the team: null, for there is no multicast over
// NVLink.
GDAKIT_NVSHMEM_CALL void* nvshmemx_mc_ptr(nvshmem_team_t, const void*) { return nullptr; }

// The shared memory that a kernel should lend: none is of use here.
GDAKIT_NVSHMEM_CALL int nvshmemx_ask_smem(nvshmemx_smem_amount_t) { return 0; }
GDAKIT_DEVICE_ONLY void nvshmemx_give_smem(void*, size_t) {}
GDAKIT_DEVICE_ONLY void nvshmemx_release_smem() {}

GDAKIT_NVSHMEM_CALL void nvshmem_query_thread(int* provided) {
  *provided = NVSHMEM_THREAD_SERIALIZED;  // a Context serves one host thread at a time
}
GDAKIT_NVSHMEM_CALL void nvshmem_info_get_version(int* major, int* minor) {
  *major = NVSHMEM_MAJOR_VERSION;
  *minor = NVSHMEM_MINOR_VERSION;
}
GDAKIT_NVSHMEM_CALL void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = NVSHMEM_VENDOR_MAJOR_VERSION;
  *minor = NVSHMEM_VENDOR_MINOR_VERSION;
  *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}
GDAKIT_NVSHMEM_CALL void nvshmem_info_get_name(char* name) {
  const char text[] = NVSHMEM_VENDOR_STRING;
  for (size_t i = 0; i < sizeof(text); ++i) name[i] = text[i];
}

}  // extern "C"

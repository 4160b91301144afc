// NVSHMEM's teams, by those of the context.
#include "nvshmem/detail/setup.h"
#include "nvshmem/library/state.h"

namespace nv = gdakit::nvshmem;

int nvshmem_team_split_strided(nvshmem_team_t parent, int start, int stride, int size,
                               const nvshmem_team_config_t* config, long config_mask,
                               nvshmem_team_t* new_team) {
  static_cast<void>(config);
  static_cast<void>(config_mask);
  constexpr const char* kCall = "nvshmem_team_split_strided";
  *new_team = NVSHMEM_TEAM_INVALID;
  const auto made = nv::context(kCall).split_strided({parent}, start, stride, size);
  if (!made) return nv::status_of_device(kCall, made.error());
  *new_team = made->id;
  return NVSHMEMX_SUCCESS;
}

int nvshmem_team_split_2d(nvshmem_team_t parent, int xrange, const nvshmem_team_config_t* x_config,
                          long x_config_mask, nvshmem_team_t* x_team,
                          const nvshmem_team_config_t* y_config, long y_config_mask,
                          nvshmem_team_t* y_team) {
  static_cast<void>(x_config);
  static_cast<void>(x_config_mask);
  static_cast<void>(y_config);
  static_cast<void>(y_config_mask);
  constexpr const char* kCall = "nvshmem_team_split_2d";
  *x_team = *y_team = NVSHMEM_TEAM_INVALID;
  const auto made = nv::context(kCall).split_2d({parent}, xrange);
  if (!made) return nv::status_of_device(kCall, made.error());
  *x_team = made->x.id;
  *y_team = made->y.id;
  return NVSHMEMX_SUCCESS;
}

void nvshmem_team_destroy(nvshmem_team_t team) {
  if (team == NVSHMEM_TEAM_INVALID || nv::is_ending()) return;
  constexpr const char* kCall = "nvshmem_team_destroy";
  nv::require(kCall, nv::context(kCall).destroy_team({team}));
}

void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t* config) {
  constexpr const char* kCall = "nvshmem_team_get_config";
  if (nvshmem_team_my_pe(team) < 0) {
    nv::fail(kCall, gdakit::Error(gdakit::Code::invalid_argument,
                                  "this PE is no member of team " + std::to_string(team)));
  }
  config->num_contexts = 0;
}

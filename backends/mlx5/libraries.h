// The distribution's libibverbs and libmlx5, loaded when they are first needed: nothing of gdakit
// links against them, so that one binary runs with and without.
//
//   const Result<const Libraries*> libraries = Libraries::of_process();
//   if (!libraries) return libraries.error();
//   ibv_device** const devices = (*libraries)->get_device_list(&count);
#pragma once

#include <string>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "core/base/result.h"

namespace gdakit::mlx5 {

// The functions that are called, each of the version of its symbol that the headers declare.
struct Libraries {
  decltype(&ibv_get_device_list) get_device_list = nullptr;
  decltype(&ibv_free_device_list) free_device_list = nullptr;
  decltype(&ibv_get_device_name) get_device_name = nullptr;
  decltype(&ibv_close_device) close_device = nullptr;
  decltype(&ibv_query_device) query_device = nullptr;
  decltype(&_ibv_query_gid_ex) query_gid = nullptr;
  decltype(&_ibv_query_gid_table) query_gid_table = nullptr;
  decltype(&ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&ibv_reg_mr_iova2) reg_mr = nullptr;
  decltype(&ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;
  decltype(&ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&ibv_create_ah) create_ah = nullptr;
  decltype(&ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&mlx5dv_is_supported) is_supported = nullptr;
  decltype(&mlx5dv_open_device) open_device = nullptr;
  decltype(&mlx5dv_init_obj) init_obj = nullptr;
  decltype(&mlx5dv_devx_query_eqn) query_eqn = nullptr;
  decltype(&mlx5dv_devx_alloc_uar) alloc_uar = nullptr;
  decltype(&mlx5dv_devx_free_uar) free_uar = nullptr;
  decltype(&mlx5dv_devx_umem_reg_ex) umem_reg = nullptr;
  decltype(&mlx5dv_devx_umem_dereg) umem_dereg = nullptr;
  decltype(&mlx5dv_devx_general_cmd) general_cmd = nullptr;
  decltype(&mlx5dv_devx_obj_create) obj_create = nullptr;
  decltype(&mlx5dv_devx_obj_modify) obj_modify = nullptr;
  decltype(&mlx5dv_devx_obj_query) obj_query = nullptr;
  decltype(&mlx5dv_devx_obj_destroy) obj_destroy = nullptr;
  decltype(&mlx5dv_devx_create_event_channel) create_event_channel = nullptr;
  decltype(&mlx5dv_devx_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&mlx5dv_devx_subscribe_devx_event) subscribe_event = nullptr;
  decltype(&mlx5dv_devx_get_event) get_event = nullptr;

  // What dlopen takes.
  struct Names {
    std::string verbs = "libibverbs.so.1";
    std::string mlx5 = "libmlx5.so.1";
  };

  // Loaded once; they stay with the process. Errors (unavailable): a library is absent, is too old
  // to have a function, or is there twice, which would give a process two lists of devices and a
  // context of one that the other one is asked about. Each names the files and the remedy.
  static Result<const Libraries*> of_process();
  static Result<Libraries> load(const Names& names);
};

}  // namespace gdakit::mlx5

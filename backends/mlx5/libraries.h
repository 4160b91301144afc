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
  decltype(&mlx5dv_is_supported) is_supported = nullptr;
  decltype(&mlx5dv_open_device) open_device = nullptr;

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

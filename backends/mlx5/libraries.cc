#include "backends/mlx5/libraries.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <optional>
#include <set>
#include <string_view>

namespace gdakit::mlx5 {
namespace {

constexpr const char* kPackages =
    "install rdma-core's libraries (Debian and Ubuntu: libibverbs1 and ibverbs-providers; Red Hat: "
    "libibverbs), in a container, too";

// One library, and the first thing that is wrong with it.
class Library {
 public:
  explicit Library(const std::string& name)
      : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* const reason = dlerror();  // the file, and why
    error_ = Error(Code::unavailable, std::string("no RDMA NIC can be used: dlopen: ") +
                                          (reason != nullptr ? reason : name) + "; " + kPackages);
  }

  template <class Function>
  void find(const char* symbol, const char* version, Function& function) {
    if (error_) return;
    function = reinterpret_cast<Function>(dlvsym(handle_, symbol, version));
    if (function != nullptr) return;
    error_ = Error(Code::unavailable, "no RDMA NIC can be used: " + file() + " has no " + symbol +
                                          " of version " + version +
                                          ": it is older than rdma-core 35; update it");
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  std::string file() const {
    link_map* map = nullptr;
    const bool known = dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
    return known ? map->l_name : name_;
  }

  const std::string name_;
  void* const handle_;
  std::optional<Error> error_;
};

// Also as wheels of Python name it: libibverbs-5e1f.so.1.14.
bool is_library(std::string_view file, std::string_view stem) {
  if (!file.starts_with(stem)) return false;
  const std::string_view rest = file.substr(stem.size());
  return rest.starts_with(".so") ||
         (rest.starts_with('-') && rest.find(".so") != std::string_view::npos);
}

// The files of a library that are loaded, each once, whatever links lead to it.
std::set<std::string> loaded_files(std::string_view stem) {
  struct Search {
    std::string_view stem;
    std::set<std::string> files;
  } search{stem, {}};
  const auto look = [](dl_phdr_info* info, std::size_t, void* to) {
    auto& found = *static_cast<Search*>(to);
    std::error_code unreadable;
    const std::filesystem::path file = std::filesystem::canonical(info->dlpi_name, unreadable);
    if (!unreadable && is_library(file.filename().string(), found.stem)) {
      found.files.insert(file.string());
    }
    return 0;
  };
  dl_iterate_phdr(look, &search);
  return std::move(search.files);
}

std::optional<Error> find_second(std::string_view stem) {
  const std::set<std::string> files = loaded_files(stem);
  if (files.size() < 2) return std::nullopt;
  return Error(Code::unavailable,
               "no RDMA NIC can be used: this process has two copies of one library, " +
                   *files.begin() + " and " + *files.rbegin() +
                   "; let all of the program use one (LD_LIBRARY_PATH, LD_PRELOAD and wheels of "
                   "Python bring others)");
}

}  // namespace

Result<Libraries> Libraries::load(const Names& names) {
  Libraries table;
  Library verbs(names.verbs);
  verbs.find("ibv_get_device_list", "IBVERBS_1.1", table.get_device_list);
  verbs.find("ibv_free_device_list", "IBVERBS_1.1", table.free_device_list);
  verbs.find("ibv_get_device_name", "IBVERBS_1.1", table.get_device_name);
  verbs.find("ibv_close_device", "IBVERBS_1.1", table.close_device);
  verbs.find("ibv_query_device", "IBVERBS_1.1", table.query_device);
  verbs.find("_ibv_query_gid_ex", "IBVERBS_1.11", table.query_gid);
  verbs.find("_ibv_query_gid_table", "IBVERBS_1.11", table.query_gid_table);
  verbs.find("ibv_alloc_pd", "IBVERBS_1.1", table.alloc_pd);
  verbs.find("ibv_dealloc_pd", "IBVERBS_1.1", table.dealloc_pd);
  verbs.find("ibv_reg_mr_iova2", "IBVERBS_1.8", table.reg_mr);
  verbs.find("ibv_reg_dmabuf_mr", "IBVERBS_1.12", table.reg_dmabuf_mr);
  verbs.find("ibv_dereg_mr", "IBVERBS_1.1", table.dereg_mr);
  verbs.find("ibv_create_ah", "IBVERBS_1.1", table.create_ah);
  verbs.find("ibv_destroy_ah", "IBVERBS_1.1", table.destroy_ah);
  if (verbs.error()) return *verbs.error();
  Library mlx5(names.mlx5);
  mlx5.find("mlx5dv_is_supported", "MLX5_1.8", table.is_supported);
  mlx5.find("mlx5dv_open_device", "MLX5_1.7", table.open_device);
  mlx5.find("mlx5dv_init_obj", "MLX5_1.2", table.init_obj);
  mlx5.find("mlx5dv_devx_query_eqn", "MLX5_1.7", table.query_eqn);
  mlx5.find("mlx5dv_devx_alloc_uar", "MLX5_1.7", table.alloc_uar);
  mlx5.find("mlx5dv_devx_free_uar", "MLX5_1.7", table.free_uar);
  mlx5.find("mlx5dv_devx_umem_reg_ex", "MLX5_1.19", table.umem_reg);
  mlx5.find("mlx5dv_devx_umem_dereg", "MLX5_1.7", table.umem_dereg);
  mlx5.find("mlx5dv_devx_general_cmd", "MLX5_1.7", table.general_cmd);
  mlx5.find("mlx5dv_devx_obj_create", "MLX5_1.7", table.obj_create);
  mlx5.find("mlx5dv_devx_obj_modify", "MLX5_1.7", table.obj_modify);
  mlx5.find("mlx5dv_devx_obj_query", "MLX5_1.7", table.obj_query);
  mlx5.find("mlx5dv_devx_obj_destroy", "MLX5_1.7", table.obj_destroy);
  mlx5.find("mlx5dv_devx_create_event_channel", "MLX5_1.11", table.create_event_channel);
  mlx5.find("mlx5dv_devx_destroy_event_channel", "MLX5_1.11", table.destroy_event_channel);
  mlx5.find("mlx5dv_devx_subscribe_devx_event", "MLX5_1.11", table.subscribe_event);
  mlx5.find("mlx5dv_devx_get_event", "MLX5_1.11", table.get_event);
  if (mlx5.error()) return *mlx5.error();
  for (const char* stem : {"libibverbs", "libmlx5"}) {
    if (const auto second = find_second(stem)) return *second;
  }
  return table;
}

Result<const Libraries*> Libraries::of_process() {
  static const Result<Libraries> libraries = load(Names{});
  if (!libraries) return libraries.error();
  return &*libraries;
}

}  // namespace gdakit::mlx5

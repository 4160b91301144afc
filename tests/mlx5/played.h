// A host's RDMA devices as a test wants them: libibverbs and libmlx5 are played.
//
//   played() = {};
//   played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
//   OpenNic::open(played_libraries(), HcaList());
//   played().held()   // kinds of objects of which one was not given back, or twice
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

struct Played {
  bool answers = true;                    // the kernel, when it is asked for devices
  int devices = 1;                        // 3 at most
  std::vector<std::string> folders = {};  // of the first devices in sysfs; others have none
  bool is_mlx5 = true;
  std::uint16_t atomic_operations = 0xf;
  std::uint16_t atomic_bytes = 0xc;
  int reads = 16;  // max_qp_rd_atom
  std::vector<ibv_port_attr> ports = {};
  std::vector<ibv_gid_entry> gids = {};
  // What a call fails with, by its name; others succeed.
  std::map<std::string, int> errors = {};
  // What the firmware answers where a command fails.
  std::uint8_t status = 0;
  std::uint32_t syndrome = 0;

  std::map<std::string, int> live = {};  // by kind
  std::vector<std::string> held() const;
  // What each command was sent last, by its opcode in four hexadecimal digits.
  std::map<std::string, std::vector<std::uint8_t>> sent = {};
  std::vector<mlx5dv_devx_umem_in> umems = {};
  std::uint64_t dma_buf_offset = 0;  // of the region that was registered last
};

Played& played();
const Libraries& played_libraries();
ibv_device* played_device();
// The pages of registers: two dedicated ones, and one that is everybody's.
mlx5dv_devx_uar* played_uar(std::size_t index);

ibv_port_attr port_of(ibv_port_state state, std::uint8_t link_layer);
ibv_gid_entry gid_of(std::uint32_t type, std::uint8_t first, std::uint8_t last);

// The context's function, which a test may take away.
verbs_context& played_context();

}  // namespace gdakit::mlx5

// A host's RDMA devices as a test wants them: libibverbs and libmlx5 are played.
//
//   played() = {};
//   played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
//   OpenNic::open(played_libraries(), HcaList());
//   played().held()   // kinds of objects of which one was not given back, or twice
//
// tests/mlx5/fixture.h has this for a whole test.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
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
  std::uint16_t dc_atomic_bytes = 0xc;
  bool swaps_fetched = false;  // what atomics fetch
  bool has_dc = true;
  std::uint8_t log_dc_reads = 4;
  int reads = 16;  // max_qp_rd_atom
  std::vector<ibv_port_attr> ports = {};
  std::vector<ibv_port_attr> ports_later =
      {};  // once there is a protection domain; empty: as before
  std::vector<ibv_gid_entry> gids = {};
  std::optional<ibv_mtu> second_mtu = {};  // of the second device's ports; none: as the others
  std::string firmware = "28.39.3004";
  std::uint32_t pd = 77;
  std::uint32_t eqn = 5;
  std::array<std::uint8_t, 6> peer_mac{0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
  // What a call fails with, by its name; others succeed.
  std::map<std::string, int> errors = {};
  // How many bytes come of a call's answer, by the call's name, or a command's opcode as below; the
  // rest is as the caller left it. Of the list of devices: how many devices; of a doorbell page:
  // how many of its two addresses; of a channel of events: whether its file does. All come of
  // others.
  std::map<std::string, std::size_t> arrives = {};
  std::optional<int> devices_told = {};  // the list's length; none: as it is
  // What the firmware answers where a command fails.
  std::uint8_t status = 0;
  std::uint32_t syndrome = 0;
  std::uint8_t queue_state = 3;  // what QUERY_QP says
  std::uint8_t lag_ports = 0;
  std::uint8_t lag_state = 1, lag_mode = 0;  // what QUERY_LAG says
  bool lag_port_in_rtr = false;
  bool recordless = false;         // whether queue pairs may go without doorbell records
  bool tells_first_error = false;  // whether it says that, too
  std::uint8_t first_error = 0;    // a syndrome

  // Gives a number below its argument, by which calls fail, and answers are spoilt and cut short;
  // not set: none is.
  std::function<std::uint32_t(std::uint32_t)> draw = {};
  bool removals_fail = false;  // whether calls that remove something are among them

  std::set<std::string> cut = {};  // calls of which an answer has come short

  std::map<std::string, int> live = {};  // by kind
  std::vector<std::string> held() const;
  // All that was sent to the firmware, in its order, and the last one of each command by its opcode
  // in four hexadecimal digits.
  std::vector<std::vector<std::uint8_t>> commands = {};
  std::map<std::string, std::vector<std::uint8_t>> sent = {};
  std::vector<mlx5dv_devx_umem_in> umems = {};
  std::vector<unsigned> accesses = {};                // that memory was registered with
  std::uint64_t dma_buf_offset = 0;                   // of the region that was registered last
  std::uint32_t last_gid = 0;                         // the highest index that was asked for
  std::uint8_t handle_port = 0;                       // of the address handle that was made last
  std::map<std::string, std::uint32_t> counted = {};  // by counters' names, since a set was made
  int destroyed = 0;                                  // calls that were to destroy an object
  std::vector<std::string> gone = {};                 // objects, by the opcodes of what made them
  // Cookies of events by what was subscribed to: the queue pair's number, and the event's.
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint64_t> cookies = {};
  std::deque<std::uint64_t> events = {};  // cookies that wait to be read

  // The next number of each kind; no two kinds have one in common.
  std::uint32_t next_page = 0x31;         // of a dedicated doorbell page
  std::uint32_t registers_of_a_page = 1;  // that are handed out as dedicated ones
  std::uint32_t next_umem = 0x51;
  std::uint32_t next_key = 0x6100;
  std::uint32_t next_object = 0x7101;
};

Played& played();
const Libraries& played_libraries();
ibv_device* played_device();
// The pages of registers: two dedicated ones, and one that is everybody's.
mlx5dv_devx_uar* played_uar(std::size_t index);

ibv_port_attr port_of(ibv_port_state state, std::uint8_t link_layer);
ibv_gid_entry gid_of(std::uint32_t type, std::uint8_t first, std::uint8_t last);

// The first device's context, whose function a test may take away.
verbs_context& played_context();

// Of the doorbell page that is not dedicated.
inline constexpr std::uint32_t kSharedPage = 0x30;
inline constexpr std::uint32_t kCombiningPage = 0x2f;

}  // namespace gdakit::mlx5

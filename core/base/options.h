// Options: everything that a user may set from outside, as plain values.
//
// The library takes an Options; a program or a test fills one as it likes, or reads the
// environment:
//
//   Result<Options> options = Options::from_environment();
//   if (!options) return options.error();
//   options->queue_depth = 256;
//
// Each value has one row in option_table() (core/base/option_table.h: name of its variable, type,
// unit, default, sentence), which is what `gdakit info` prints. Nothing else in gdakit reads the
// environment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"

namespace gdakit {

inline constexpr std::uint32_t kMaxNicsPerPe = 8;

// mlx5_emulated is mlx5 on the soft ConnectXes of `gdakit verbs`, and on no others.
enum class BackendChoice { automatic, softnic, mlx5, mlx5_emulated };

// Who rings the NIC's doorbell: the GPU's threads, or a host thread on their behalf.
enum class NicHandler { automatic, gpu, proxy, commands };

// Where kernels run: on emulated GPU threads or on a GPU. automatic is a GPU if there is one and
// the program that makes the context was compiled by nvcc.
enum class DeviceChoice { automatic, cpu, gpu };

// How the soft NIC reads and writes GPU memory (backends/softnic/gpu/gpu_dma.h).
enum class DmaChoice { automatic, copy_engine, kernels, gdrcopy };

// What the queues of a PE are: queue pairs of RC, one to each peer, or initiators of DC, which all
// peers share.
enum class QueueType : std::uint8_t { rc, dc };

// Where send queues and completion queues lie.
enum class QueuePlace { automatic, device, host };

// How payload goes between processes of a host: from memory to memory, which each maps of the
// others (direct), or through host memory that all of them share.
enum class PayloadPath { direct, host };

// How soft NICs of one host reach each other where NICs have addresses: through memory, or over UDP
// as those of other hosts. automatic is memory, unless all addresses are the loopback interface's,
// which have no use but UDP within a host.
enum class NearWire { automatic, memory, udp };

// How a PE reaches a peer whose heap its threads can map: through the NIC all the same, or by
// loads, stores and atomics (direct). automatic is direct with a real NIC
// (core/host/transport_map.h).
enum class TransportChoice { automatic, nic, direct };

// How the network places puts (device/pe.h).
enum class Placement { in_order, any };

// How collectives are arranged (device/views.h).
enum class CollectiveChoice { automatic, linear, logarithmic, ring };

// How launches of a process's PEs follow each other (Context::launch).
enum class LaunchOrder { side_by_side, in_turn };

// What becomes of the job when a PE is lost: it ends for all, or the others go on without it.
enum class PeerLoss { end, go_on };

// What started this process, and so tells its place in a job (core/host/launch/launch_source.h).
enum class LauncherChoice { automatic, gdakit, pmix, torchrun, slurm, none };

// Where a value came from.
enum class OptionSource { fallback, environment, program };

const char* backend_choice_name(BackendChoice choice);
const char* nic_handler_name(NicHandler handler);
const char* device_choice_name(DeviceChoice choice);
const char* dma_choice_name(DmaChoice choice);
const char* queue_type_name(QueueType type);
const char* queue_place_name(QueuePlace place);
const char* payload_path_name(PayloadPath path);
const char* near_wire_name(NearWire wire);
const char* transport_choice_name(TransportChoice choice);
const char* placement_name(Placement placement);
const char* collective_choice_name(CollectiveChoice choice);
const char* launch_order_name(LaunchOrder order);
const char* peer_loss_name(PeerLoss loss);
const char* launcher_choice_name(LauncherChoice launcher);
const char* switch_name(bool on);
const char* option_source_name(OptionSource source);

// Sizes are in bytes, a time of 0 is "off" where the table allows 0.
struct Options {
  LogLevel log = LogLevel::warn;
  BackendChoice backend = BackendChoice::automatic;

  LauncherChoice launcher = LauncherChoice::automatic;
  // The place of this process in its job; `gdakit run` sets them, other launchers have their own
  // variables.
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> size;
  std::string root;    // host:port of PE 0
  std::string secret;  // 32 hexadecimal digits
  std::optional<std::uint32_t> listen_fd;
  std::string exit_pipe;                    // by which a PE asks the launcher to end the job
  std::optional<std::uint32_t> local_rank;  // among the PEs of this host; picks the GPU

  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds peer_timeout{20'000};  // of a host that does not answer
  PeerLoss peer_loss = PeerLoss::end;
  std::chrono::milliseconds watchdog{30'000};
  std::chrono::milliseconds nic_timeout{8'000};

  std::uint32_t queue_depth = 1024;  // WQEBBs
  std::uint32_t queues_per_peer = 2;
  QueueType queue_type = QueueType::rc;
  std::uint32_t dc_queues = 8;  // of DC, in the place of the queues to all peers
  std::string connect = "all";  // to whom there are queues (core/base/connect_choice.h)
  std::uint32_t fetch_slots = 1024;
  std::uint64_t symmetric_size = std::uint64_t{64} << 20;
  std::uint64_t heap_chunk = std::uint64_t{64} << 20;
  std::uint64_t heap_limit = std::uint64_t{16} << 30;
  bool check_memory = false;
  LaunchOrder launches = LaunchOrder::side_by_side;
  NicHandler nic_handler = NicHandler::automatic;
  bool doorbell_records = true;    // whether the device's threads keep them
  std::uint32_t softnic_pes = 64;  // of one job, at most
  std::string hca_list;            // which RDMA NICs may be used (core/base/hca_list.h); empty: all
  std::string hca_map;             // local rank r takes entry r modulo their count; empty: nearest
  std::uint32_t nics_per_pe = 1;   // over which a PE's queues are spread; RDMA NICs alone
  std::string gid;                 // which GID of RoCE (core/base/gid_choice.h); empty: the best
  std::optional<std::uint32_t> service_level;  // of RDMA NICs
  std::optional<std::uint32_t> traffic_class;  // not given: that of the system
  std::uint32_t pkey_index = 0;                // of the partition, in the port's table
  bool relaxed_ordering = true;                // of what RDMA NICs write to local buffers
  Placement placement = Placement::in_order;   // of the bytes of puts
  std::string nic_address;  // of the soft NIC, for its wire between hosts; empty: none
  NearWire nic_near = NearWire::automatic;  // where there is a nic_address
  bool nic_congestion = false;  // whether the soft NIC sends slower where the network is congested
  bool nic_tags = false;        // whether each of the soft NIC's packets over UDP carries a tag
  std::string nic_faults;       // what the soft NIC's wire does to packets; empty: nothing
  std::string capture;          // a directory for captures of the soft NIC's packets; empty: none
  std::string counters;         // a directory for what the soft NIC counts; empty: none
  std::string trace;            // a directory for what a timeline shows; empty: none
  std::uint32_t dc_responders = 16384;  // of the soft NIC's DC targets, connected at a time
  std::uint32_t emulator_workers = 1;
  std::uint64_t emulator_stack = std::uint64_t{64} << 10;
  DeviceChoice device = DeviceChoice::automatic;
  std::vector<std::uint32_t> gpus;  // CUDA ordinals; local rank r uses r % size(); empty: all
  DmaChoice dma = DmaChoice::automatic;
  QueuePlace queue_memory = QueuePlace::automatic;
  PayloadPath payload = PayloadPath::direct;
  TransportChoice transport = TransportChoice::automatic;
  std::uint32_t teams = 32;
  std::uint64_t team_scratch = std::uint64_t{256} << 10;
  CollectiveChoice collectives = CollectiveChoice::automatic;

  // What the environment gave, by variable, in the table's spelling. Filled by from_environment().
  std::map<std::string, std::string, std::less<>> from_variables;

  // What other launchers have set, by variable: those of launcher_variables() that are there and
  // not empty. Filled by from_environment().
  std::map<std::string, std::string, std::less<>> set_by_launcher;

  // The defaults, changed by the GDAKIT_* variables of this process. An error names the variable,
  // its value and what is allowed. A GDAKIT_* variable that is not in the table gets a warning on
  // stderr.
  static Result<Options> from_environment();

  // What a program set must satisfy too: every value in its range, and values that go together.
  Result<void> validate() const;
};

// The same as from_environment() for given variables. Warnings are for the user, one sentence each.
struct ParsedOptions {
  Options options;
  std::vector<std::string> warnings;
};
Result<ParsedOptions> parse_options(
    const std::vector<std::pair<std::string, std::string>>& variables);

// All variables of this process, with their values.
std::vector<std::pair<std::string, std::string>> environment_variables();

}  // namespace gdakit

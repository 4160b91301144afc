// The option table: one row for each variable, with its parser and its printer.
#include <algorithm>

#include "core/base/connect_choice.h"
#include "core/base/gid_choice.h"
#include "core/base/hca_list.h"
#include "core/base/option_numbers.h"
#include "core/base/option_table.h"
#include "core/base/options.h"

namespace gdakit {
namespace {

constexpr LogLevel kLogLevels[] = {LogLevel::error, LogLevel::warn, LogLevel::info,
                                   LogLevel::debug};
constexpr BackendChoice kBackends[] = {BackendChoice::automatic, BackendChoice::softnic,
                                       BackendChoice::mlx5, BackendChoice::mlx5_emulated};
constexpr DeviceChoice kDevices[] = {DeviceChoice::automatic, DeviceChoice::cpu, DeviceChoice::gpu};
constexpr DmaChoice kDmas[] = {DmaChoice::automatic, DmaChoice::copy_engine, DmaChoice::kernels,
                               DmaChoice::gdrcopy};
constexpr QueueType kQueueTypes[] = {QueueType::rc, QueueType::dc};
constexpr QueuePlace kQueuePlaces[] = {QueuePlace::automatic, QueuePlace::device, QueuePlace::host};
constexpr PayloadPath kPayloadPaths[] = {PayloadPath::direct, PayloadPath::host};
constexpr NearWire kNearWires[] = {NearWire::automatic, NearWire::memory, NearWire::udp};
constexpr TransportChoice kTransports[] = {TransportChoice::automatic, TransportChoice::nic,
                                           TransportChoice::direct};
constexpr Placement kPlacements[] = {Placement::in_order, Placement::any};
constexpr CollectiveChoice kCollectives[] = {CollectiveChoice::automatic, CollectiveChoice::linear,
                                             CollectiveChoice::logarithmic, CollectiveChoice::ring};
constexpr PeerLoss kPeerLosses[] = {PeerLoss::end, PeerLoss::go_on};
constexpr LaunchOrder kLaunchOrders[] = {LaunchOrder::side_by_side, LaunchOrder::in_turn};
constexpr LauncherChoice kLaunchers[] = {LauncherChoice::automatic, LauncherChoice::gdakit,
                                         LauncherChoice::pmix,      LauncherChoice::torchrun,
                                         LauncherChoice::slurm,     LauncherChoice::none};
constexpr bool kSwitch[] = {false, true};
constexpr NicHandler kNicHandlers[] = {NicHandler::automatic, NicHandler::gpu, NicHandler::proxy,
                                       NicHandler::commands};

template <auto kMember, const auto& kChoices, auto kName>
bool parse_choice(Options& options, std::string_view text) {
  for (const auto choice : kChoices) {
    if (text != kName(choice)) continue;
    options.*kMember = choice;
    return true;
  }
  return false;
}

template <auto kMember, auto kName>
std::string choice_text(const Options& options) {
  return kName(options.*kMember);
}

bool parse_root(Options& options, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::optional<std::uint32_t> port = parse_number<std::uint32_t>(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return false;
  options.root = text;
  return true;
}

bool parse_exit_pipe(Options& options, std::string_view text) {
  if (!text.starts_with('/')) return false;
  options.exit_pipe = text;
  return true;
}

// What the text means, the NIC says.
template <auto kField>
bool parse_nic_text(Options& options, std::string_view text) {
  options.*kField = text;
  return true;
}

bool parse_secret(Options& options, std::string_view text) {
  const bool digits = text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  if (text.size() != 32 || !digits) return false;
  options.secret = text;
  return true;
}

// "0,2": CUDA ordinals, separated by commas.
constexpr std::uint32_t kMostGpu = 1023;

bool parse_gpus(Options& options, std::string_view text) {
  std::vector<std::uint32_t> gpus;
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<std::uint32_t> gpu = parse_number<std::uint32_t>(text.substr(0, comma));
    if (!gpu || *gpu > kMostGpu) return false;
    gpus.push_back(*gpu);
    if (comma == text.size()) break;
    text.remove_prefix(comma + 1);
  }
  options.gpus = std::move(gpus);
  return true;
}

std::string gpus_text(const Options& options) {
  std::string text;
  for (const std::uint32_t gpu : options.gpus) {
    if (!text.empty()) text += ",";
    text += std::to_string(gpu);
  }
  return text;
}

template <auto kMember, class List>
bool parse_list(Options& options, std::string_view text) {
  const std::optional<List> list = List::parse(text);
  if (list) options.*kMember = list->text();
  return list.has_value();
}

template <auto kMember>
std::string plain_text(const Options& options) {
  return options.*kMember;
}

constexpr OptionRow kTable[] = {
    {"GDAKIT_LOG", "choice", "", "error, warn, info or debug",
     "How much gdakit writes to stderr: the level named and those before it.", false,
     parse_choice<&Options::log, kLogLevels, log_level_name>,
     choice_text<&Options::log, log_level_name>},
    {"GDAKIT_BACKEND", "choice", "", "auto, softnic, mlx5 or mlx5-emulated",
     "The NIC: the software ConnectX (softnic, and auto), a ConnectX by the distribution's "
     "libmlx5 (mlx5), or, through that library, a software ConnectX (mlx5-emulated).",
     false, parse_choice<&Options::backend, kBackends, backend_choice_name>,
     choice_text<&Options::backend, backend_choice_name>},
    {"GDAKIT_HCA_LIST", "text", "",
     "names of RDMA devices separated by commas, each with or without :port; ^ in front for all "
     "but these",
     "The RDMA NICs that may be used: mlx5_0,mlx5_3:1 or ^mlx5_1; if not set, all. Each port of a "
     "device is a NIC of its own. ibv_devices prints their names.",
     false, parse_list<&Options::hca_list, HcaList>, plain_text<&Options::hca_list>},
    {"GDAKIT_HCA_MAP", "text", "",
     "names of RDMA devices separated by commas, those of one PE by +; each with or without :port",
     "Which RDMA NICs a PE takes: entry r modulo their count for the PE of local rank r, as "
     "mlx5_0,mlx5_1, or mlx5_0+mlx5_1,mlx5_2+mlx5_3:1 with GDAKIT_NICS_PER_PE=2. If not set, the "
     "nearest to its GPU; PEs of a host share these out.",
     false, parse_list<&Options::hca_map, HcaMap>, plain_text<&Options::hca_map>},
    {"GDAKIT_NICS_PER_PE", "integer", "NICs", "an integer from 1 to 8",
     "Over how many RDMA NICs a PE spreads its queues: queue q to a peer goes by NIC q modulo "
     "that, at both ends. Atomics and signals go by the first one, and fence waits as quiet does.",
     false, parse_integer<&Options::nics_per_pe, 1, kMaxNicsPerPe>,
     integer_text<&Options::nics_per_pe>},
    {"GDAKIT_GID", "text", "",
     "an index from 0 to 255; or any of v1 or v2, ipv4 or ipv6, and a network as 10.0.0.0/8",
     "Which GID of its RoCE port an RDMA NIC takes, by its index or by what it must be: "
     "v2,ipv4,10.1.0.0/16. If not set, one of RoCE v2 and of IPv4 if there is one.",
     false, parse_list<&Options::gid, GidChoice>, plain_text<&Options::gid>},
    {"GDAKIT_SERVICE_LEVEL", "integer", "", "an integer from 0 to 15",
     "The service level of InfiniBand, or the priority of Ethernet, of queue pairs of RDMA NICs; "
     "0 if not set.",
     false, parse_integer<&Options::service_level, 0, 15>, optional_text<&Options::service_level>},
    {"GDAKIT_TRAFFIC_CLASS", "integer", "", "an integer from 0 to 255",
     "The traffic class of queue pairs of RDMA NICs, of which DSCP is the upper six bits; if not "
     "set, that which the system has for the port, else 0.",
     false, parse_integer<&Options::traffic_class, 0, 255>, optional_text<&Options::traffic_class>},
    {"GDAKIT_PKEY_INDEX", "integer", "", "an integer from 0 to 65535",
     "Which entry of its port's table of partitions queue pairs of RDMA NICs take, on InfiniBand; "
     "RoCE has one.",
     false, parse_integer<&Options::pkey_index, 0, 65535>, integer_text<&Options::pkey_index>},
    {"GDAKIT_RELAXED_ORDERING", "choice", "", "off or on",
     "Whether an RDMA NIC may write the bytes of a get to a registered buffer in any order, which "
     "is faster on some hosts. The symmetric heap is always written in order.",
     false, parse_choice<&Options::relaxed_ordering, kSwitch, switch_name>,
     choice_text<&Options::relaxed_ordering, switch_name>},
    {"GDAKIT_PLACEMENT", "choice", "", "in-order or any",
     "In which order the network places the bytes of puts. any: as they come, as with adaptive "
     "routing to NICs that place out of order. A fence then waits as quiet does, and collectives "
     "count their messages by atomics.",
     false, parse_choice<&Options::placement, kPlacements, placement_name>,
     choice_text<&Options::placement, placement_name>},
    {"GDAKIT_LAUNCHER", "choice", "", "auto, gdakit, pmix, torchrun, slurm or none",
     "What started the job and tells its PEs their places; none is a job of one PE.", false,
     parse_choice<&Options::launcher, kLaunchers, launcher_choice_name>,
     choice_text<&Options::launcher, launcher_choice_name>},
    {"GDAKIT_RANK", "integer", "", "an integer from 0 to 65535",
     "The number of this PE in its job; set by the launcher.", false,
     parse_integer<&Options::rank, 0, 65535>, optional_text<&Options::rank>},
    {"GDAKIT_SIZE", "integer", "PEs", "an integer from 1 to 65536",
     "How many PEs the job has; set by the launcher.", false,
     parse_integer<&Options::size, 1, 65536>, optional_text<&Options::size>},
    {"GDAKIT_ROOT", "text", "", "host:port, the port from 1 to 65535",
     "Where PE 0 listens for the others; set by the launcher, and wins over what others say.",
     false, parse_root, plain_text<&Options::root>},
    {"GDAKIT_SECRET", "text", "", "32 hexadecimal digits",
     "What a process must know to join the job; set by the launcher.", true, parse_secret,
     plain_text<&Options::secret>},
    {"GDAKIT_LISTEN_FD", "integer", "", "an open file descriptor, an integer from 0 to 1048575",
     "The listening socket that PE 0 inherits; set by the launcher.", false,
     parse_integer<&Options::listen_fd, 0, 1048575>, optional_text<&Options::listen_fd>},
    {"GDAKIT_EXIT_PIPE", "text", "", "the absolute path of a pipe",
     "Where a PE that ends the whole job writes its rank and the status; set by the launcher.",
     false, parse_exit_pipe, plain_text<&Options::exit_pipe>},
    {"GDAKIT_LOCAL_RANK", "integer", "", "an integer from 0 to 65535",
     "The number of this PE among those of its host, by which it takes a GPU.", false,
     parse_integer<&Options::local_rank, 0, 65535>, optional_text<&Options::local_rank>},
    {"GDAKIT_TIMEOUT", "time", "s", "seconds, from 0.001 to 1000000",
     "How long bootstrap and control path wait for another PE before they fail. Once the PEs "
     "have met, time in which one of this host is stopped does not count.",
     false, parse_seconds<&Options::timeout, 1>, seconds_text<&Options::timeout>},
    {"GDAKIT_PEER_LOSS", "choice", "", "end or go-on",
     "What becomes of the job when a PE is lost: it ends for all, or the others go on without it. "
     "PE 0's value counts; PE 0 itself, where the PEs meet, cannot be done without.",
     false, parse_choice<&Options::peer_loss, kPeerLosses, peer_loss_name>,
     choice_text<&Options::peer_loss, peer_loss_name>},
    {"GDAKIT_PEER_TIMEOUT", "time", "s", "seconds, from 3 to 1000000",
     "How long a host may not answer before its PEs count as lost. A process that has ended is "
     "noticed at once, and one that is stopped is not lost.",
     false, parse_seconds<&Options::peer_timeout, 3000>, seconds_text<&Options::peer_timeout>},
    {"GDAKIT_WATCHDOG", "time", "s", "seconds, from 0 to 1000000; 0 switches it off",
     "How long a device thread may wait before it reports a stall. Time in which a PE of this host "
     "is stopped does not count; on a GPU nor does what was waited before.",
     false, parse_seconds<&Options::watchdog, 0>, seconds_text<&Options::watchdog>},
    {"GDAKIT_NIC_TIMEOUT", "time", "s", "seconds, from 0 to 1000; 0 waits for ever",
     "How long a NIC sends again to a peer's NIC that does not answer before it breaks the queue; "
     "each try's time is rounded up to 4.096 us * 2^n. A peer on this host that has yet to read "
     "what was sent, as a stopped one, is waited for as long as its process lives "
     "(GDAKIT_WATCHDOG).",
     false, parse_seconds<&Options::nic_timeout, 0, 1'000'000>,
     seconds_text<&Options::nic_timeout>},
    {"GDAKIT_QUEUE_DEPTH", "integer", "WQEBBs", "a power of two from 64 to 32768",
     "The slots of each send queue.", false, parse_power_of_two<&Options::queue_depth, 64, 32768>,
     integer_text<&Options::queue_depth>},
    {"GDAKIT_QUEUES_PER_PEER", "integer", "queues", "an integer from 1 to 64",
     "How many queues a PE has to each other PE, rounded up to a multiple of its NICs.", false,
     parse_integer<&Options::queues_per_peer, 1, 64>, integer_text<&Options::queues_per_peer>},
    {"GDAKIT_CONNECT", "text", "", "all, none, rails, or numbers of PEs as 0-3,8",
     "To which PEs a PE has queues from the start: to all; to none but itself; to those of its "
     "host and to those that have its place in theirs (rails); or, of a list, those named to all, "
     "and all to those named. Context::connect adds others.",
     false, parse_list<&Options::connect, ConnectChoice>, plain_text<&Options::connect>},
    {"GDAKIT_QUEUE_TYPE", "choice", "", "rc or dc",
     "What the queues are: queue pairs of RC, one to each peer, or DC initiators, which all peers "
     "share, for jobs of many PEs.",
     false, parse_choice<&Options::queue_type, kQueueTypes, queue_type_name>,
     choice_text<&Options::queue_type, queue_type_name>},
    {"GDAKIT_DC_QUEUES", "integer", "queues", "an integer from 1 to 1024",
     "With GDAKIT_QUEUE_TYPE=dc: how many initiators stand for one queue to each peer.", false,
     parse_integer<&Options::dc_queues, 1, 1024>, integer_text<&Options::dc_queues>},
    {"GDAKIT_DOORBELL_RECORDS", "choice", "", "off or on",
     "Whether the GPU's threads write a doorbell record before each doorbell. off saves a store "
     "and a fence, with NICs that can do without (ConnectX-8).",
     false, parse_choice<&Options::doorbell_records, kSwitch, switch_name>,
     choice_text<&Options::doorbell_records, switch_name>},
    {"GDAKIT_FETCH_SLOTS", "integer", "slots", "a power of two from 32 to 65536",
     "How many results of gets and fetching atomics may be under way in a PE.", false,
     parse_power_of_two<&Options::fetch_slots, 32, 65536>, integer_text<&Options::fetch_slots>},
    {"GDAKIT_SYMMETRIC_SIZE", "size", "bytes",
     "bytes from 4K to 65536G, with K, M or G for 2^10..2^30",
     "The symmetric heap's size at the start.", false, parse_size<&Options::symmetric_size>,
     size_text<&Options::symmetric_size>},
    {"GDAKIT_HEAP_CHUNK", "size", "bytes", "bytes from 4K to 65536G, with K, M or G for 2^10..2^30",
     "By how much the symmetric heap grows at a time.", false, parse_size<&Options::heap_chunk>,
     size_text<&Options::heap_chunk>},
    {"GDAKIT_HEAP_LIMIT", "size", "bytes", "bytes from 4K to 65536G, with K, M or G for 2^10..2^30",
     "The address range that is reserved for the symmetric heap: it never grows beyond.", false,
     parse_size<&Options::heap_limit>, size_text<&Options::heap_limit>},
    {"GDAKIT_CHECK_MEMORY", "choice", "", "off or on",
     "Whether the emulator finds operations and plain stores that overrun an object of the "
     "symmetric heap or come after its free. Costs memory and time.",
     false, parse_choice<&Options::check_memory, kSwitch, switch_name>,
     choice_text<&Options::check_memory, switch_name>},
    {"GDAKIT_LAUNCHES", "choice", "", "side-by-side or in-turn",
     "Whether Context::launch of the PEs of one process take turns: the kernel of one has ended "
     "before that of another begins. For tools that run one kernel at a time, as "
     "compute-sanitizer. A kernel that waits for another PE's kernel then waits until the watchdog "
     "ends it.",
     false, parse_choice<&Options::launches, kLaunchOrders, launch_order_name>,
     choice_text<&Options::launches, launch_order_name>},
    {"GDAKIT_NIC_HANDLER", "choice", "", "auto, gpu, proxy or commands",
     "Who writes WQEs and rings the NIC: the GPU's threads do both (gpu); they write, a host "
     "thread rings (proxy); or the host thread does both and polls, too, on commands of theirs "
     "(commands).",
     false, parse_choice<&Options::nic_handler, kNicHandlers, nic_handler_name>,
     choice_text<&Options::nic_handler, nic_handler_name>},
    {"GDAKIT_SOFTNIC_PES", "integer", "PEs", "an integer from 1 to 1024",
     "The most PEs of a job that the soft NIC connects, of which 512 may be processes of one host; "
     "their wires take up to 3 MB of shared memory for each.",
     false, parse_integer<&Options::softnic_pes, 1, 1024>, integer_text<&Options::softnic_pes>},
    {"GDAKIT_NIC_ADDRESS", "text", "",
     "an IP address in numbers or an interface, with or without :port, or a network",
     "Where the soft NIC of this PE is reached over UDP (docs/between-hosts.md): 10.0.0.7, eth0, "
     "or the host's address in 10.0.0.0/8. All PEs of a job have one; or none, on one host.",
     false, parse_nic_text<&Options::nic_address>, plain_text<&Options::nic_address>},
    {"GDAKIT_NIC_NEAR", "choice", "", "auto, memory or udp",
     "How soft NICs with addresses reach those of the same host: through memory that their "
     "processes share, over UDP as others, or by the former unless all addresses are the loopback "
     "interface's (auto). The same on all PEs.",
     false, parse_choice<&Options::nic_near, kNearWires, near_wire_name>,
     choice_text<&Options::nic_near, near_wire_name>},
    {"GDAKIT_NIC_CONGESTION", "choice", "", "off or on",
     "Whether the soft NIC slows down a queue pair whose packets the network marks as congested "
     "(ECN), as DCQCN does (docs/between-hosts.md). The same on all PEs.",
     false, parse_choice<&Options::nic_congestion, kSwitch, switch_name>,
     choice_text<&Options::nic_congestion, switch_name>},
    {"GDAKIT_NIC_TAGS", "choice", "", "off or on",
     "Whether each packet over UDP carries a tag of 16 bytes, which only who knows the job's "
     "secret can make (docs/security.md). The same on all PEs.",
     false, parse_choice<&Options::nic_tags, kSwitch, switch_name>,
     choice_text<&Options::nic_tags, switch_name>},
    {"GDAKIT_DC_RESPONDERS", "integer", "connections", "an integer from 1 to 16384",
     "How many initiators are connected to the DC targets of a soft NIC at a time, of jobs with "
     "GDAKIT_QUEUE_TYPE=dc and of RDMA programs (docs/any-rdma-program.md): others wait for their "
     "turn.",
     false, parse_integer<&Options::dc_responders, 1, 16384>,
     integer_text<&Options::dc_responders>},
    {"GDAKIT_NIC_FAULTS", "text", "", "faults, as drop=1%,repeat=0.1%,seed=7",
     "What happens to packets that the soft NIC sends, to see a job on a bad network.", false,
     parse_nic_text<&Options::nic_faults>, plain_text<&Options::nic_faults>},
    {"GDAKIT_CAPTURE", "text", "", "a directory",
     "Where the soft NIC of each PE writes its packets, for Wireshark: pe0.pcapng and so on.",
     false, parse_nic_text<&Options::capture>, plain_text<&Options::capture>},
    {"GDAKIT_COUNTERS", "text", "", "a directory",
     "Where each PE writes what its NIC counts, twice a second, for Prometheus and `gdakit top`: "
     "pe0.prom and so on.",
     false, parse_nic_text<&Options::counters>, plain_text<&Options::counters>},
    {"GDAKIT_TRACE", "text", "", "a directory",
     "Where each PE writes what happens, for a timeline that `gdakit run --trace` or `gdakit "
     "timeline` makes of it: pe0-host.trace, pe0-nic.trace and so on.",
     false, parse_nic_text<&Options::trace>, plain_text<&Options::trace>},
    {"GDAKIT_EMULATOR_WORKERS", "integer", "threads", "an integer from 1 to 64",
     "How many host threads emulate the GPU's threads of a PE.", false,
     parse_integer<&Options::emulator_workers, 1, 64>, integer_text<&Options::emulator_workers>},
    {"GDAKIT_EMULATOR_STACK", "size", "bytes",
     "bytes from 4K to 65536G, with K, M or G for 2^10..2^30",
     "The stack of an emulated thread, where a kernel's local arrays lie; at least 16K, and four "
     "times as much under a sanitizer.",
     false, parse_size<&Options::emulator_stack>, size_text<&Options::emulator_stack>},
    {"GDAKIT_DEVICE", "choice", "", "auto, cpu or gpu",
     "Where kernels run: emulated GPU threads (cpu), a GPU (gpu), or a GPU if there is one.", false,
     parse_choice<&Options::device, kDevices, device_choice_name>,
     choice_text<&Options::device, device_choice_name>},
    {"GDAKIT_GPUS", "text", "", "CUDA device numbers separated by commas, each from 0 to 1023",
     "The GPUs of a host: its PE of local rank r takes entry r modulo their count; if not set, "
     "all.",
     false, parse_gpus, gpus_text},
    {"GDAKIT_DMA", "choice", "", "auto, copy-engine, kernels or gdrcopy",
     "How the soft NIC reads and writes GPU memory.", false,
     parse_choice<&Options::dma, kDmas, dma_choice_name>,
     choice_text<&Options::dma, dma_choice_name>},
    {"GDAKIT_QUEUE_MEMORY", "choice", "", "auto, device or host",
     "Where send queues and completion queues lie: GPU memory (device) or pinned host memory.",
     false, parse_choice<&Options::queue_memory, kQueuePlaces, queue_place_name>,
     choice_text<&Options::queue_memory, queue_place_name>},
    {"GDAKIT_PAYLOAD", "choice", "", "direct or host",
     "How payload goes between processes of a host: from memory to memory, on GPUs without "
     "touching the host (direct), or through host memory (host).",
     false, parse_choice<&Options::payload, kPayloadPaths, payload_path_name>,
     choice_text<&Options::payload, payload_path_name>},
    {"GDAKIT_TEAMS", "integer", "teams", "an integer from 4 to 64",
     "How many teams there may be at a time, the four predefined ones included.", false,
     parse_integer<&Options::teams, 4, 64>, integer_text<&Options::teams>},
    {"GDAKIT_TEAM_SCRATCH", "size", "bytes",
     "bytes from 4K to 65536G, with K, M or G for 2^10..2^30",
     "The symmetric memory of each team for collectives under way; large reductions are cut to it.",
     false, parse_size<&Options::team_scratch>, size_text<&Options::team_scratch>},
    {"GDAKIT_COLLECTIVES", "choice", "", "auto, linear, logarithmic or ring",
     "How collective operations are arranged; auto goes by bytes and members. The same on all PEs.",
     false, parse_choice<&Options::collectives, kCollectives, collective_choice_name>,
     choice_text<&Options::collectives, collective_choice_name>},
    {"GDAKIT_TRANSPORT", "choice", "", "auto, nic or direct",
     "How peers whose memory can be mapped are reached: through the NIC (nic), by loads, stores "
     "and atomics (direct), or by the latter with a real NIC only (auto).",
     false, parse_choice<&Options::transport, kTransports, transport_choice_name>,
     choice_text<&Options::transport, transport_choice_name>},
};

}  // namespace

std::span<const OptionRow> option_table() { return kTable; }

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : option_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::string shown_value(const OptionRow& row, const Options& options) {
  const std::string value = row.text(options);
  return row.secret && !value.empty() ? "(set)" : value;
}

OptionSource option_source(const OptionRow& row, const Options& options) {
  const std::string value = row.text(options);
  const auto given = options.from_variables.find(std::string_view(row.name));
  if (given != options.from_variables.end()) {
    return given->second == value ? OptionSource::environment : OptionSource::program;
  }
  return value == row.text(Options{}) ? OptionSource::fallback : OptionSource::program;
}

}  // namespace gdakit

#include "backends/mlx5/judge.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "backends/mlx5/atomics.h"
#include "backends/mlx5/gids.h"
#include "backends/mlx5/ports.h"

namespace gdakit::mlx5 {
namespace {

constexpr unsigned kMostPorts = 255;
constexpr std::array kAtomicNames{"compare-and-swap", "fetch-and-add", "masked compare-and-swap",
                                  "masked fetch-and-add"};  // by their bits

// GPU threads take what an atomic fetched as it lies there.
constexpr const char* kSwapsFetched =
    "atomic operations of 8 bytes bring back what they fetch big-endian "
    "(atomic_req_8B_endianness_mode is 0): the driver sets that mode when it finds a NIC that has "
    "the other one, so the NIC, its firmware or its driver is too old";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

class Context {
 public:
  Context(const Libraries& libraries, ibv_device* device) : libraries_(libraries) {
    mlx5dv_context_attr attributes{};
    attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
    errno = 0;
    context_ = libraries.open_device(device, &attributes);
    if (context_ == nullptr) error_ = errno;
  }
  ~Context() {
    if (context_ != nullptr) libraries_.close_device(context_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  bool is_open() const { return context_ != nullptr; }
  int error() const { return error_; }

  Result<ibv_device_attr> attributes() const {
    ibv_device_attr attributes{};
    const int code = libraries_.query_device(context_, &attributes);
    if (code != 0) return Error::from_errno("ibv_query_device", code);
    return attributes;
  }
  Result<ibv_port_attr> port(std::uint8_t number) const { return query_port(context_, number); }
  // Why the port has no address that is allowed; nothing if it has one.
  std::string lack_of_gids(std::uint8_t number, const GidChoice& choice) const {
    const Result<ibv_gid_entry> gid = GidTable(libraries_, context_, number).choose(choice);
    return gid ? "" : gid.error().message();
  }
  // Why the device API's atomics cannot be done; nothing if they can.
  std::string lack_of_atomics() const;

 private:
  const Libraries& libraries_;
  ibv_context* context_ = nullptr;
  int error_ = 0;
};

std::string Context::lack_of_atomics() const {
  const Result<Atomics> has = query_atomics(libraries_, context_);
  if (!has) return has.error().message();
  std::vector<std::string> lacks;
  for (std::size_t i = 0; i < kAtomicNames.size(); ++i) {
    if ((has->operations >> i & 1) == 0) lacks.emplace_back(kAtomicNames[i]);
  }
  for (const std::uint32_t size : {4u, 8u}) {
    if ((has->sizes & size) == 0) lacks.push_back("those of " + std::to_string(size) + " bytes");
  }
  if (lacks.empty()) return has->swaps_fetched ? kSwapsFetched : "";
  return "it lacks atomic operations that signals and counters need, of queue pairs: " +
         joined(lacks) +
         ". Its firmware may switch atomics off (`mlxconfig -d <device> q PCI_ATOMIC_MODE` shows "
         "it)";
}

std::string vendor_of(const ibv_device& device) {
  std::ifstream file(text_in(device.ibdev_path) + "/device/vendor");
  std::string vendor;
  return file >> vendor ? vendor : "unknown";
}

std::string refused_opening(const ibv_device& device, int code) {
  const std::string node = "/dev/infiniband/" + text_in(device.dev_name);
  // libibverbs says ENOENT of a node that it may not open, too.
  if (::access(node.c_str(), R_OK | W_OK) != 0 && errno == EACCES) code = EACCES;
  const std::string what =
      Error::from_errno("mlx5dv_open_device with DEVX, on " + node, code).message();
  switch (code) {
    case EAGAIN:
      return what +
             "; the control group may have no NIC left to open (`cat /sys/fs/cgroup/rdma.max`)";
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return what + "; pass the device into the container (docker run --device=" + node + ')';
    case EACCES:
    case EPERM:
      return what + "; `ls -l " + node +
             "` shows who may read and write it, and a container's limits forbid it likewise";
    case EINVAL:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      return what +
             "; the kernel's mlx5_ib or the NIC's firmware has no DEVX: it takes Linux 5.7 or "
             "later, or MLNX_OFED";
    default: return what + "; `dmesg | grep mlx5` may say more";
  }
}

// What a port is that can be used.
std::string port_text(const ibv_port_attr& port) {
  const std::string mtu = ", MTU " + std::to_string(bytes_of(port.active_mtu));
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) return "RoCE" + mtu;
  return "InfiniBand" + mtu + ", LID " + std::to_string(port.lid);
}

// What the user allows.
struct Allowed {
  const HcaList& list;
  const char* variable;  // that the list is from
  const GidChoice& gid;
  std::string left_out() const { return std::string("left out by ") + variable; }
};

DeviceReport judge_port(const Context& context, const std::string& name, std::uint8_t number,
                        const Allowed& allowed) {
  const std::string port = "port " + std::to_string(number);
  const auto refused = [&](const std::string& why) {
    return DeviceReport{name, 0, port + ' ' + why};
  };
  if (!allowed.list.allows(name, number)) return refused("is " + allowed.left_out());
  const Result<ibv_port_attr> attributes = context.port(number);
  if (!attributes) return refused(attributes.error().message());
  std::string why = why_unusable(*attributes);
  if (why.empty()) why = context.lack_of_gids(number, allowed.gid);
  if (!why.empty()) return refused(why);
  return {name, number, port + ", " + port_text(*attributes)};
}

Result<std::vector<DeviceReport>> judge_ports(const Context& context, const std::string& name,
                                              unsigned count, const Allowed& allowed) {
  if (count == 0) {
    return std::vector{DeviceReport{name, 0, "it has no port, as ibv_query_device tells"}};
  }
  for (const unsigned number : allowed.list.ports_of(name)) {
    if (number <= count) continue;
    return Error(Code::not_found,
                 allowed.variable + (" names port " + std::to_string(number)) + " of " + name +
                     ", which has " + std::to_string(count) + (count == 1 ? " port" : " ports") +
                     "; from ConnectX-4 on most ports are devices of their own, and `ibv_devices` "
                     "lists these");
  }
  std::vector<DeviceReport> reports;
  for (unsigned number = 1; number <= count; ++number) {
    reports.push_back(judge_port(context, name, static_cast<std::uint8_t>(number), allowed));
  }
  return reports;
}

}  // namespace

bool may_be_used(const HcaList& list, const std::string& name) {
  for (unsigned port = 1; port <= kMostPorts; ++port) {
    if (list.allows(name, static_cast<std::uint8_t>(port))) return true;
  }
  return false;
}

std::string firmware_of(const ibv_device_attr& attributes) { return text_in(attributes.fw_ver); }

Result<std::vector<DeviceReport>> judge_device(const Libraries& libraries, ibv_device* device,
                                               const HcaList& list, const GidChoice& gid,
                                               const char* variable) {
  const std::string name = name_of(libraries, device);
  const auto refused = [&](std::string why) {
    return std::vector{DeviceReport{name, 0, std::move(why)}};
  };
  if (name.empty()) return refused("ibv_get_device_name gives no name");
  if (!libraries.is_supported(device)) {
    return refused("no ConnectX (vendor " + vendor_of(*device) +
                   "): gdakit's GPU threads post to ConnectX NICs alone");
  }
  const Allowed allowed{list, variable, gid};
  if (!may_be_used(list, name)) return refused(allowed.left_out());
  const Context context(libraries, device);
  if (!context.is_open()) return refused(refused_opening(*device, context.error()));
  const Result<ibv_device_attr> attributes = context.attributes();
  if (!attributes) return refused(attributes.error().message());
  if (std::string lack = context.lack_of_atomics(); !lack.empty()) return refused(std::move(lack));
  Result<std::vector<DeviceReport>> reports =
      judge_ports(context, name, attributes->phys_port_cnt, allowed);
  if (!reports) return reports;
  for (DeviceReport& report : *reports) {
    if (report.usable()) report.sentence += ", firmware " + firmware_of(*attributes);
  }
  return reports;
}

namespace {

// Those that the kernel has.
std::vector<std::string> kernels_nics() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

Error none_listed() {
  const std::vector<std::string> names = kernels_nics();
  if (!names.empty()) {
    return Error(Code::unavailable,
                 "libibverbs lists no RDMA NIC, where the kernel has " + joined(names) +
                     " (/sys/class/infiniband): pass the device nodes into the container (docker "
                     "run --device=/dev/infiniband/uverbs0; `ls -l /dev/infiniband`)");
  }
  return Error(Code::unavailable,
               "this host has no RDMA NIC that the kernel drives: `ibv_devices` lists none, and "
               "`lsmod | grep mlx5_ib` shows whether the driver is loaded. `gdakit verbs -- "
               "COMMAND` gives a command soft ones");
}

}  // namespace

Result<std::vector<DeviceReport>> judge_devices(const DeviceList& present, const HcaList& list,
                                                const GidChoice& gid) {
  std::vector<DeviceReport> reports;
  std::vector<std::string> names;
  for (std::size_t device = 0; device < present.devices().size(); ++device) {
    Result<std::vector<DeviceReport>> ports =
        judge_device(present.libraries(), present.devices()[device], list, gid);
    if (!ports) return ports.error();
    names.push_back(ports->front().name);
    for (DeviceReport& report : *ports) {
      report.device = device;
      reports.push_back(std::move(report));
    }
  }
  if (names.empty()) return none_listed();
  const std::vector<std::string> unknown = list.unknown(names);
  if (unknown.empty()) return reports;
  return Error(Code::not_found, "GDAKIT_HCA_LIST names " + joined(unknown) +
                                    ", where this host has " + joined(names));
}

}  // namespace gdakit::mlx5

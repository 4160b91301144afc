#include "backends/mlx5/open_nic.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

#include "backends/mlx5/firmware_answer.h"
#include "backends/mlx5/gids.h"
#include "backends/mlx5/ports.h"
#include "backends/mlx5/traffic_class.h"
#include "core/base/bits.h"
#include "core/base/hex.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

constexpr int kLogMostReads = 4;
// No number of anything: what a call that does not answer leaves behind.
constexpr std::uint32_t kUnanswered = ~std::uint32_t{0};

const char* command_name(prm::Opcode opcode) {
  switch (opcode) {
    case prm::Opcode::create_cq: return "CREATE_CQ";
    case prm::Opcode::create_qp: return "CREATE_QP";
    case prm::Opcode::rst2init_qp: return "RST2INIT_QP";
    case prm::Opcode::init2rtr_qp: return "INIT2RTR_QP";
    case prm::Opcode::rtr2rts_qp: return "RTR2RTS_QP";
    case prm::Opcode::query_qp: return "QUERY_QP";
    case prm::Opcode::qp_2rst: return "2RST_QP";
    case prm::Opcode::create_rmp: return "CREATE_RMP";
    case prm::Opcode::create_dct: return "CREATE_DCT";
    case prm::Opcode::alloc_q_counter: return "ALLOC_Q_COUNTER";
    case prm::Opcode::query_q_counter: return "QUERY_Q_COUNTER";
    default: return "a command";
  }
}

}  // namespace

Result<std::vector<std::unique_ptr<OpenNic>>> OpenNic::open_all(const Libraries& libraries,
                                                                const NicOptions& options) {
  const Result<DeviceList> present = DeviceList::get(libraries);
  if (!present) return present.error();
  const Result<std::vector<ChosenNic>> chosen = choose_nics(*present, options.wish);
  if (!chosen) return chosen.error();
  std::vector<std::unique_ptr<OpenNic>> nics;
  for (const ChosenNic& one : *chosen) {
    std::unique_ptr<OpenNic> nic(new OpenNic(libraries, one.report.name));
    nic->port_ = one.report.port;
    nic->why_ = one.why;
    if (auto opened = nic->open_device(one.device, options); !opened) return opened.error();
    nics.push_back(std::move(nic));
  }
  return nics;
}

Result<std::unique_ptr<OpenNic>> OpenNic::open(const Libraries& libraries,
                                               const NicOptions& options) {
  Result<std::vector<std::unique_ptr<OpenNic>>> nics = open_all(libraries, options);
  if (!nics) return nics.error();
  return std::move(nics->front());
}

OpenNic::~OpenNic() {
  if (pd_ != nullptr) libraries_.dealloc_pd(pd_);
  if (context_ != nullptr) libraries_.close_device(context_);
}

Error OpenNic::failure(const std::string& call, int code) const {
  return Error::from_errno(call + " on " + name(), code);
}

Error OpenNic::no_memory(const std::string& call, std::uint64_t bytes, int code) const {
  const Error why = failure(call + " of " + std::to_string(bytes) + " bytes", code);
  if (code != ENOMEM) return why;
  return Error(Code::exhausted,
               why.message() +
                   "; the limit of locked memory may be too low (`ulimit -l`; in a container "
                   "--ulimit memlock=-1)",
               code);
}

Error OpenNic::wrong_answer(const std::string& call, const std::string& what) const {
  return Error(Code::unavailable, call + " on " + name() + " answered " + what);
}

Result<void> OpenNic::check_number(const std::string& call, std::uint32_t number, int bits) const {
  if (number >> bits == 0) return {};
  return wrong_answer(call, hex_number(number) + ", a number for which commands have no room");
}

// Numbers 0 and 1 are those of the fabric's management, on every port.
Result<void> OpenNic::check_qpn(const std::string& call, std::uint32_t number) const {
  if (number > 1) return {};
  return wrong_answer(call, hex_number(number) + ", the number of a queue pair of management");
}

Result<void> OpenNic::open_device(ibv_device* device, const NicOptions& options) {
  mlx5dv_context_attr attributes{};
  attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  context_ = libraries_.open_device(device, &attributes);
  if (context_ == nullptr) return failure("mlx5dv_open_device", errno);
  pd_ = libraries_.alloc_pd(context_);
  if (pd_ == nullptr) return failure("ibv_alloc_pd", errno);
  mlx5dv_pd numbers{};
  numbers.pdn = kUnanswered;
  mlx5dv_obj objects{};
  objects.pd.in = pd_;
  objects.pd.out = &numbers;
  if (const int code = libraries_.init_obj(&objects, MLX5DV_OBJ_PD); code != 0) {
    return failure("mlx5dv_init_obj of the protection domain", code);
  }
  pdn_ = numbers.pdn;
  eqn_ = kUnanswered;
  if (const int code = libraries_.query_eqn(context_, /*vector=*/0, &eqn_); code != 0) {
    return failure("mlx5dv_devx_query_eqn", code);
  }
  if (auto known = check_number("mlx5dv_init_obj of the protection domain", pdn_); !known) {
    return known;
  }
  if (auto known = check_number("mlx5dv_devx_query_eqn", eqn_, /*bits=*/8); !known) return known;
  service_level_ = options.service_level.value_or(0);
  pkey_index_ = options.pkey_index;
  page_bytes_ = options.page_bytes != 0 ? options.page_bytes
                                        : static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  traffic_class_ = options.traffic_class ? *options.traffic_class
                                         : system_traffic_class(text_in(device->ibdev_path), port_);
  capabilities_ = NicCapabilities::query(libraries_, context_);
  return find_address(options.wish.gid);
}

Result<void> OpenNic::find_address(const GidChoice& choice) {
  const Result<ibv_port_attr> port = query_port(context_, port_);
  if (!port) return port.error().within(name());
  if (const std::string why = why_unusable(*port); !why.empty()) {
    return Error(Code::unavailable,
                 "ibv_query_port: port " + std::to_string(port_) + " of " + name_ + ' ' + why);
  }
  address_.link_layer = port->link_layer;
  address_.mtu = static_cast<std::uint8_t>(port->active_mtu);
  address_.lid = port->lid;
  address_.needs_grh = (port->flags & IBV_QPF_GRH_REQUIRED) != 0 ? 1 : 0;
  ibv_device_attr device{};
  if (const int code = libraries_.query_device(context_, &device); code != 0) {
    return failure("ibv_query_device", code);
  }
  if (device.phys_port_cnt < port_) {  // the answer's last field
    return wrong_answer("ibv_query_device", std::to_string(device.phys_port_cnt) +
                                                " ports, where port " + std::to_string(port_) +
                                                " is to be used");
  }
  ports_ = device.phys_port_cnt;
  const int reads = std::clamp(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 1,
                               1 << kLogMostReads);
  address_.log_reads = static_cast<std::uint8_t>(log2_floor(static_cast<std::uint64_t>(reads)));
  if (auto good = check_options(*port); !good) return good;
  return find_gid(choice);
}

// What the port has not.
Result<void> OpenNic::check_options(const ibv_port_attr& port) const {
  constexpr std::uint8_t kMostPriority = 7;
  if (address_.link_layer == IBV_LINK_LAYER_ETHERNET && service_level_ > kMostPriority) {
    return Error(Code::invalid_argument, "GDAKIT_SERVICE_LEVEL=" + std::to_string(service_level_) +
                                             ": " + name_ +
                                             " is on Ethernet, where priorities go from 0 to 7");
  }
  if (pkey_index_ != 0 && pkey_index_ >= port.pkey_tbl_len) {
    return Error(Code::invalid_argument,
                 "GDAKIT_PKEY_INDEX=" + std::to_string(pkey_index_) + ": port " +
                     std::to_string(port_) + " of " + name_ + " has a table of " +
                     std::to_string(port.pkey_tbl_len) +
                     (port.pkey_tbl_len == 1 ? " partition key, at index 0"
                                             : " partition keys, from index 0 on") +
                     "; `grep . /sys/class/infiniband/" + name_ + "/ports/" +
                     std::to_string(port_) + "/pkeys/*` shows them");
  }
  return {};
}

Result<void> OpenNic::find_gid(const GidChoice& choice) {
  const Result<ibv_gid_entry> found = GidTable(libraries_, context_, port_).choose(choice);
  if (!found) {
    return Error(found.error().code(),
                 "port " + std::to_string(port_) + " of " + name_ + ' ' + found.error().message());
  }
  gid_ = *found;
  address_.gid_type = static_cast<std::uint8_t>(found->gid_type);
  address_.gid = bytes_of(found->gid);
  return {};
}

Result<void> OpenNic::find_gid_again() {
  const auto found = GidTable(libraries_, context_, port_).find(gid_);
  if (!found && found.error().code() != Code::not_found) {
    return failure("ibv_query_gid_table", found.error().system_code());
  }
  if (!found) {
    return Error(Code::unavailable,
                 "port " + std::to_string(port_) + " of " + name_ + " has lost its GID " +
                     text_of(address_.gid) +
                     ", which its peers know it by: `show_gids` shows those that it has; was an "
                     "address of its network interface taken away?");
  }
  gid_.gid_index = *found;
  return {};
}

Error OpenNic::refused(prm::Opcode opcode, std::span<const std::uint8_t> out, int code) const {
  const Error error = failure(command_name(opcode), code);
  return Error(tells_of_object(out) ? Code::not_found : error.code(),
               error.message() + firmware_answer(out), code);
}

// Of a command that the call says has succeeded.
Result<void> OpenNic::check_answer(prm::Opcode opcode, std::span<const std::uint8_t> out) const {
  const std::string wrong = wrong_with_answer(out);
  return wrong.empty() ? Result<void>() : wrong_answer(command_name(opcode), wrong);
}

Result<DevxObject> OpenNic::create(prm::Opcode opcode, std::span<const std::uint8_t> in,
                                   std::span<std::uint8_t> out) const {
  mark_end(out);
  mlx5dv_devx_obj* const object =
      libraries_.obj_create(context_, in.data(), in.size(), out.data(), out.size());
  if (object == nullptr) return refused(opcode, out, errno);
  DevxObject made(libraries_, object);
  if (auto good = check_answer(opcode, out); !good) return good.error();
  return made;
}

Result<void> OpenNic::modify(const DevxObject& object, prm::Opcode opcode,
                             std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const {
  mark_end(out);
  const int code =
      libraries_.obj_modify(object.get(), in.data(), in.size(), out.data(), out.size());
  return code == 0 ? check_answer(opcode, out) : refused(opcode, out, code);
}

Result<void> OpenNic::query(const DevxObject& object, prm::Opcode opcode,
                            std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const {
  mark_end(out);
  const int code = libraries_.obj_query(object.get(), in.data(), in.size(), out.data(), out.size());
  return code == 0 ? check_answer(opcode, out) : refused(opcode, out, code);
}

}  // namespace gdakit::mlx5

#include "backends/mlx5/open_nic.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/ports.h"
#include "core/base/bits.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

constexpr int kLogMostReads = 4;

const char* command_name(prm::Opcode opcode) {
  switch (opcode) {
    case prm::Opcode::create_cq: return "CREATE_CQ";
    case prm::Opcode::create_qp: return "CREATE_QP";
    case prm::Opcode::rst2init_qp: return "RST2INIT_QP";
    case prm::Opcode::init2rtr_qp: return "INIT2RTR_QP";
    case prm::Opcode::rtr2rts_qp: return "RTR2RTS_QP";
    case prm::Opcode::query_qp: return "QUERY_QP";
    case prm::Opcode::qp_2rst: return "2RST_QP";
    default: return "a command";
  }
}

const char* status_name(std::uint64_t status) {
  switch (status) {
    case 0x01: return "internal error";
    case 0x02: return "bad operation";
    case 0x03: return "bad parameter";
    case 0x04: return "bad system state";
    case 0x05: return "bad resource";
    case 0x06: return "resource busy";
    case 0x08: return "limits exceeded";
    case 0x09: return "bad resource state";
    case 0x0a: return "bad index";
    case 0x0f: return "no resources";
    case 0x10: return "bad state of the queue pair";
    case 0x50: return "bad input length";
    case 0x51: return "bad output length";
    default: return "unknown";
  }
}

std::string in_hex(std::uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

// What makes one GID better than another for a peer that may be anywhere. All hosts prefer IPv4:
// the order of a table is that in which addresses came up.
int rank_of(const ibv_gid_entry& entry) {
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const std::uint8_t* const raw = entry.gid.raw;
  const bool local = raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
  switch (entry.gid_type) {
    case IBV_GID_TYPE_IB: return 1;
    case IBV_GID_TYPE_ROCE_V1: return local ? 1 : 2;
    case IBV_GID_TYPE_ROCE_V2:
      if (local) return 3;
      return std::equal(kIpv4.begin(), kIpv4.end(), raw) ? 5 : 4;
    default: return 0;
  }
}

}  // namespace

Result<std::unique_ptr<OpenNic>> OpenNic::open(const Libraries& libraries, const HcaList& list) {
  const Result<DeviceList> present = DeviceList::get(libraries);
  if (!present) return present.error();
  const Result<std::vector<DeviceReport>> reports = judge_devices(*present, list);
  if (!reports) return reports.error();
  std::string reasons;
  for (std::size_t i = 0; i < reports->size(); ++i) {
    const DeviceReport& report = (*reports)[i];
    if (report.usable()) {
      std::unique_ptr<OpenNic> nic(new OpenNic(libraries, report.name));
      auto opened = nic->open_device(present->devices()[i], report.port);
      if (!opened) return opened.error();
      return nic;
    }
    reasons += (reasons.empty() ? "" : "; ") + report.name + ": " + report.sentence;
  }
  return Error(Code::unavailable, "no RDMA NIC can be used: " + reasons);
}

OpenNic::~OpenNic() {
  if (pd_ != nullptr) libraries_.dealloc_pd(pd_);
  if (context_ != nullptr) libraries_.close_device(context_);
}

Error OpenNic::failure(const std::string& call, int code) const {
  return Error::from_errno(call + " on " + name_, code);
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

Result<void> OpenNic::open_device(ibv_device* device, std::uint8_t port) {
  port_ = port;
  mlx5dv_context_attr attributes{};
  attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  context_ = libraries_.open_device(device, &attributes);
  if (context_ == nullptr) return failure("mlx5dv_open_device", errno);
  pd_ = libraries_.alloc_pd(context_);
  if (pd_ == nullptr) return failure("ibv_alloc_pd", errno);
  mlx5dv_pd numbers{};
  mlx5dv_obj objects{};
  objects.pd.in = pd_;
  objects.pd.out = &numbers;
  if (const int code = libraries_.init_obj(&objects, MLX5DV_OBJ_PD); code != 0) {
    return failure("mlx5dv_init_obj of the protection domain", code);
  }
  pdn_ = numbers.pdn;
  if (const int code = libraries_.query_eqn(context_, /*vector=*/0, &eqn_); code != 0) {
    return failure("mlx5dv_devx_query_eqn", code);
  }
  return find_address();
}

Result<void> OpenNic::find_address() {
  const Result<ibv_port_attr> port = query_port(context_, port_);
  if (!port) return port.error().within(name_);
  address_.link_layer = port->link_layer;
  address_.mtu = static_cast<std::uint8_t>(port->active_mtu);
  address_.lid = port->lid;
  address_.needs_grh = (port->flags & IBV_QPF_GRH_REQUIRED) != 0 ? 1 : 0;
  ibv_device_attr device{};
  if (const int code = libraries_.query_device(context_, &device); code != 0) {
    return failure("ibv_query_device", code);
  }
  const int reads = std::clamp(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 1,
                               1 << kLogMostReads);
  address_.log_reads = static_cast<std::uint8_t>(log2_floor(static_cast<std::uint64_t>(reads)));
  return find_gid(port->gid_tbl_len);
}

Result<void> OpenNic::find_gid(int count) {
  int best = 0;
  for (int index = 0; index < count; ++index) {
    ibv_gid_entry entry{};
    const auto number = static_cast<std::uint32_t>(index);
    if (libraries_.query_gid(context_, port_, number, &entry, 0, sizeof entry) != 0) continue;
    if (rank_of(entry) <= best) continue;
    best = rank_of(entry);
    gid_index_ = static_cast<std::uint8_t>(index);
    address_.gid_type = static_cast<std::uint8_t>(entry.gid_type);
    std::ranges::copy(entry.gid.raw, address_.gid.begin());
  }
  if (best != 0) return {};
  return Error(Code::unavailable, "port " + std::to_string(port_) + " of " + name_ +
                                      " has no GID: `show_gids` or /sys/class/infiniband/" + name_ +
                                      "/ports show them; its network interface may be down");
}

Error OpenNic::refused(prm::Opcode opcode, std::span<const std::uint8_t> out, int code) const {
  const prm::View<prm::MboxOut> answer(out);
  const std::uint64_t status = answer.get(prm::MboxOut::status);
  const Error error = failure(command_name(opcode), code);
  if (status == 0) return error;
  return Error(error.code(),
               error.message() + "; the firmware's status is " + in_hex(status) + " (" +
                   status_name(status) + "), syndrome " +
                   in_hex(answer.get(prm::MboxOut::syndrome)),
               code);
}

Result<DevxObject> OpenNic::create(prm::Opcode opcode, std::span<const std::uint8_t> in,
                                   std::span<std::uint8_t> out) const {
  mlx5dv_devx_obj* const object =
      libraries_.obj_create(context_, in.data(), in.size(), out.data(), out.size());
  if (object == nullptr) return refused(opcode, out, errno);
  return DevxObject(libraries_, object);
}

Result<void> OpenNic::modify(const DevxObject& object, prm::Opcode opcode,
                             std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const {
  const int code =
      libraries_.obj_modify(object.get(), in.data(), in.size(), out.data(), out.size());
  return code == 0 ? Result<void>() : Result<void>(refused(opcode, out, code));
}

Result<void> OpenNic::query(const DevxObject& object, prm::Opcode opcode,
                            std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const {
  const int code = libraries_.obj_query(object.get(), in.data(), in.size(), out.data(), out.size());
  return code == 0 ? Result<void>() : Result<void>(refused(opcode, out, code));
}

}  // namespace gdakit::mlx5

// A port of a ConnectX that is open for a PE: a context, a protection domain, and what peers need
// to know of the port. Of a device with two ports each has all of it for itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/mlx5/libraries.h"
#include "backends/mlx5/nic_capabilities.h"
#include "backends/mlx5/nic_choice.h"
#include "core/base/gid_choice.h"
#include "core/base/result.h"
#include "core/format/prm/command.h"

namespace gdakit::mlx5 {

// Where a port is reached, and what it takes; a part of connection cards.
struct PortAddress {
  std::uint8_t link_layer = 0;  // IBV_LINK_LAYER_INFINIBAND or IBV_LINK_LAYER_ETHERNET
  std::uint8_t mtu = 0;         // ibv_mtu
  std::uint8_t gid_type = 0;    // ibv_gid_type
  std::uint8_t needs_grh = 0;   // whether an InfiniBand port demands a global routing header
  std::uint8_t log_reads = 0;   // READs and atomics that a queue pair may have under way, 2^n
  std::uint8_t unused = 0;
  std::uint16_t lid = 0;
  std::array<std::uint8_t, 16> gid{};
};
static_assert(sizeof(PortAddress) == 24);

// An object of the firmware's; destroyed with this.
class DevxObject {
 public:
  DevxObject(const Libraries& libraries, mlx5dv_devx_obj* object)
      : libraries_(&libraries), object_(object) {}
  DevxObject(DevxObject&& other) noexcept
      : libraries_(other.libraries_), object_(std::exchange(other.object_, nullptr)) {}
  DevxObject& operator=(DevxObject&&) = delete;
  ~DevxObject() {
    if (object_ != nullptr) libraries_->obj_destroy(object_);
  }
  mlx5dv_devx_obj* get() const { return object_; }
  // 0, or why the object is still there.
  int destroy() {
    const int code = libraries_->obj_destroy(object_);
    if (code == 0) object_ = nullptr;
    return code;
  }

 private:
  const Libraries* libraries_;
  mlx5dv_devx_obj* object_;
};

struct NicOptions {
  NicWish wish = {};
  std::optional<std::uint8_t> service_level = {};
  std::optional<std::uint8_t> traffic_class = {};  // none: what the system has for the port
  std::uint16_t pkey_index = 0;                    // GDAKIT_PKEY_INDEX
  std::uint64_t page_bytes = 0;                    // of this host; 0: as it is
};

class OpenNic {
 public:
  // The NICs that choose_nics chooses, in that order. The libraries outlive them. Errors: as
  // choose_nics's; a port has no GID or no partition key that was asked for; a call of libibverbs
  // or libmlx5 that failed, by its name.
  static Result<std::vector<std::unique_ptr<OpenNic>>> open_all(const Libraries& libraries,
                                                                const NicOptions& options);
  // The one, where one is wished.
  static Result<std::unique_ptr<OpenNic>> open(const Libraries& libraries,
                                               const NicOptions& options);
  ~OpenNic();
  OpenNic(const OpenNic&) = delete;
  OpenNic& operator=(const OpenNic&) = delete;

  const Libraries& libraries() const { return libraries_; }
  // As GDAKIT_HCA_LIST names it: the device, and the port where that has several.
  std::string name() const { return ports_ > 1 ? name_ + ':' + std::to_string(port_) : name_; }
  // The device alone, as libibverbs has it.
  const std::string& device() const { return name_; }
  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_; }
  std::uint32_t pdn() const { return pdn_; }
  std::uint32_t eqn() const { return eqn_; }
  std::uint8_t port() const { return port_; }
  std::uint8_t gid_index() const { return static_cast<std::uint8_t>(gid_.gid_index); }
  const PortAddress& address() const { return address_; }
  const NicCapabilities& capabilities() const { return capabilities_; }
  // Of ports that are bonded (LAG): by which of them the next queue pair is to send, in turn. 0:
  // there are none.
  std::uint8_t next_lag_port() const {
    return capabilities_.lag_ports == 0
               ? std::uint8_t{0}
               : static_cast<std::uint8_t>(1 + lag_users_++ % capabilities_.lag_ports);
  }
  std::uint8_t service_level() const { return service_level_; }
  std::uint8_t traffic_class() const { return traffic_class_; }
  // Of the partition in which its queues are, in the port's table.
  std::uint16_t pkey_index() const { return pkey_index_; }
  // Of this host: the least that the kernel maps, and that it makes a umem of.
  std::uint64_t page_bytes() const { return page_bytes_; }
  // Why this NIC and not another one.
  const std::string& why() const { return why_; }

  // Addresses come and go, and with them indices of the port's table: finds that of this NIC's GID
  // again. Errors: it is gone.
  Result<void> find_gid_again();

  // Commands to the firmware. Errors name the command and the NIC, the firmware's status and
  // syndrome where it has answered, and the system's code; they are not_found where it has answered
  // that the object is not there, or not as the command needs it.
  template <class In, class Out>
  Result<DevxObject> create(format::prm::Opcode opcode, format::prm::Mailbox<In>& in,
                            format::prm::Mailbox<Out>& out) const {
    in.set(format::prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    return create(opcode, in.bytes(), out.bytes());
  }
  template <class In, class Out>
  Result<void> modify(const DevxObject& object, format::prm::Opcode opcode,
                      format::prm::Mailbox<In>& in, format::prm::Mailbox<Out>& out) const {
    in.set(format::prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    return modify(object, opcode, in.bytes(), out.bytes());
  }
  template <class In, class Out>
  Result<void> query(const DevxObject& object, format::prm::Opcode opcode,
                     format::prm::Mailbox<In>& in, format::prm::Mailbox<Out>& out) const {
    in.set(format::prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    return query(object, opcode, in.bytes(), out.bytes());
  }

  // Of a call that left `code` in errno.
  Error failure(const std::string& call, int code) const;
  // ... and that pins memory.
  Error no_memory(const std::string& call, std::uint64_t bytes, int code) const;
  // Of a call that succeeded, and answered what cannot be.
  Error wrong_answer(const std::string& call, const std::string& what) const;
  // ... which is a number that has no room in the `bits` bits of commands.
  Result<void> check_number(const std::string& call, std::uint32_t number, int bits = 24) const;
  // ... which is that of a queue pair, though it can be none that a program has made.
  Result<void> check_qpn(const std::string& call, std::uint32_t number) const;

 private:
  OpenNic(const Libraries& libraries, std::string name) : libraries_(libraries), name_(name) {}
  Result<void> open_device(ibv_device* device, const NicOptions& options);
  Result<void> find_address(const GidChoice& choice);
  Result<void> check_options(const ibv_port_attr& port) const;
  Result<void> find_gid(const GidChoice& choice);

  Result<DevxObject> create(format::prm::Opcode opcode, std::span<const std::uint8_t> in,
                            std::span<std::uint8_t> out) const;
  Result<void> modify(const DevxObject& object, format::prm::Opcode opcode,
                      std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const;
  Result<void> query(const DevxObject& object, format::prm::Opcode opcode,
                     std::span<const std::uint8_t> in, std::span<std::uint8_t> out) const;
  Error refused(format::prm::Opcode opcode, std::span<const std::uint8_t> out, int code) const;
  Result<void> check_answer(format::prm::Opcode opcode, std::span<const std::uint8_t> out) const;

  const Libraries& libraries_;
  const std::string name_;  // of the device
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  std::uint32_t pdn_ = 0;
  std::uint32_t eqn_ = 0;
  std::uint8_t port_ = 0;
  std::uint8_t ports_ = 0;  // that the device has; 0: not known yet
  ibv_gid_entry gid_{};     // that was chosen
  std::uint8_t service_level_ = 0;
  std::uint8_t traffic_class_ = 0;
  std::uint16_t pkey_index_ = 0;
  std::uint64_t page_bytes_ = 0;
  std::string why_;
  PortAddress address_;
  NicCapabilities capabilities_;
  mutable std::atomic<std::uint32_t> lag_users_{0};
};

}  // namespace gdakit::mlx5

// Ports of rdma_cm, which all processes of a host share: by names of the fabric (fabric_names.h),
// so that they are free as soon as their process ends, however it does.
//
//   p/<port space>/<port>/<address>           taken; an address may be "any"
//   l/<port space>/<port>/<address>/<place>   listened at, by the NIC that has the address
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/cm/ip_port.h"
#include "backends/softnic/uverbs/fabric_names.h"
#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs::cm {

// enum rdma_ucm_port_space.
enum class PortSpace : std::uint16_t { ipoib = 0x0002, tcp = 0x0106, udp = 0x0111, ib = 0x013f };

// From one thread at a time.
class PortNames {
 public:
  explicit PortNames(const std::string& fabric) : prefix_(fabric_prefix(fabric)) {}

  // The port is the caller's for as long as it keeps the file; port 0 becomes one that is free.
  // None: it is taken, by this address, by any where this is one, or by one where this is any.
  std::optional<KeptFile> take(PortSpace space, IpPort& address);

  // One of a NIC that listens at its own address. None: another one does.
  std::optional<KeptFile> listen(PortSpace space, const IpPort& address, Endpoint place);
  // At which place of this host somebody listens.
  std::optional<Endpoint> find_listener(PortSpace space, const IpPort& address);
  bool has_listener(PortSpace space, std::uint16_t port);

 private:
  std::string begin(char what, PortSpace space, std::uint16_t port) const;
  std::optional<KeptFile> take_if_free(PortSpace space, const IpPort& address);

  const std::string prefix_;
  SocketNames names_;
};

}  // namespace gdakit::softnic::uverbs::cm

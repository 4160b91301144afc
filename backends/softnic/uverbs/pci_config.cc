#include "backends/softnic/uverbs/pci_config.h"

#include <array>

#include "core/base/bits.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kBytes = 4096;

// The standard header.
constexpr std::size_t kVendor = 0x00, kDevice = 0x02, kStatus = 0x06, kClass = 0x09, kHeader = 0x0e,
                      kCapabilities = 0x34;
constexpr std::uint32_t kHasCapabilities = 1 << 4, kBridgeHeader = 1;

// The PCI Express capability, which is the only one of its list.
constexpr std::size_t kExpress = 0x60;
constexpr std::size_t kExpressFlags = kExpress + 2, kDeviceCap = kExpress + 4,
                      kDeviceControl = kExpress + 8, kLinkCap = kExpress + 12,
                      kLinkStatus = kExpress + 18;
constexpr std::uint32_t kExpressId = 0x10, kVersion = 2, kRootPort = 4 << 4;
constexpr std::uint32_t kPayload512 = 2, kPayload256Now = 1 << 5, kRelaxedOrdering = 1 << 4,
                        kNoSnoop = 1 << 11;

// The only extended capability: access control services of a root port, address translation
// services of an endpoint.
constexpr std::size_t kExtended = 0x100;
constexpr std::uint32_t kAcsId = 0x000d, kAtsId = 0x000f, kFirstVersion = 1 << 16;
constexpr std::uint32_t kAcsHas = 0x005f;        // all but egress control
constexpr std::uint32_t kAcsRedirects = 0x001d;  // SrcValid, ReqRedir, CmpltRedir, UpstreamFwd

void put(std::string& bytes, std::size_t at, std::uint32_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    bytes[at + i] = static_cast<char>(static_cast<std::uint8_t>(value >> 8 * i));
  }
}

}  // namespace

std::string PciConfig::bytes() const {
  std::string all(kBytes, '\0');
  put(all, kVendor, vendor, 2);
  put(all, kDevice, device, 2);
  put(all, kStatus, kHasCapabilities, 2);
  put(all, kClass, class_code, 3);
  put(all, kHeader, is_root_port ? kBridgeHeader : 0, 1);
  put(all, kCapabilities, kExpress, 1);
  put(all, kExpress, kExpressId, 2);
  put(all, kExpressFlags, kVersion | (is_root_port ? kRootPort : 0), 2);
  put(all, kDeviceCap, kPayload512, 4);
  const auto log_read = static_cast<std::uint32_t>(log2_floor(read_request_bytes / 128));
  put(all, kDeviceControl,
      kPayload256Now | kNoSnoop | (relaxed_ordering ? kRelaxedOrdering : 0) | log_read << 12, 2);
  put(all, kLinkCap, most.speed | most.width << 4, 4);
  put(all, kLinkStatus, now.speed | now.width << 4, 2);
  put(all, kExtended, kFirstVersion | (is_root_port ? kAcsId : kAtsId), 4);
  if (is_root_port) put(all, kExtended + 4, kAcsHas, 2);
  if (is_root_port && acs_redirects) put(all, kExtended + 6, kAcsRedirects, 2);
  return all;
}

std::string pci_speed_text(std::uint32_t speed) {
  constexpr std::array kGigatransfers = {"2.5", "5.0", "8.0", "16.0", "32.0", "64.0"};
  return std::string(kGigatransfers.at(speed - 1)) + " GT/s PCIe";
}

}  // namespace gdakit::softnic::uverbs

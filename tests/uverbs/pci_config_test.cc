// Configuration spaces, read as lspci and setpci read them.
#include "backends/softnic/uverbs/pci_config.h"

#include <optional>

#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

std::uint32_t number(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

// Where a capability lies, by the list of them.
std::optional<std::size_t> find(const std::string& bytes, std::uint32_t id) {
  for (std::size_t at = number(bytes, 0x34, 1); at != 0; at = number(bytes, at + 1, 1)) {
    if (number(bytes, at, 1) == id) return at;
  }
  return std::nullopt;
}

// ... and an extended one.
std::optional<std::size_t> find_extended(const std::string& bytes, std::uint32_t id) {
  for (std::size_t at = 0x100; at != 0; at = number(bytes, at + 2, 2) >> 4) {
    if (number(bytes, at, 2) == id) return at;
  }
  return std::nullopt;
}

constexpr std::uint32_t kExpress = 0x10, kAcs = 0x0d, kAts = 0x0f;

TEST(PciConfig, SaysVendorDeviceAndClass) {
  const std::string bytes =
      PciConfig{.vendor = 0x15b3, .device = 0x1021, .class_code = 0x020700}.bytes();
  ASSERT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(number(bytes, 0, 2), 0x15b3u);
  EXPECT_EQ(number(bytes, 2, 2), 0x1021u);
  EXPECT_EQ(number(bytes, 9, 3), 0x020700u);
  EXPECT_EQ(number(bytes, 0x0e, 1), 0u);
}

TEST(PciConfig, SaysTheLinkNowAndAtItsBest) {
  const std::string bytes = PciConfig{.now = {3, 8}, .most = {5, 16}}.bytes();
  const auto at = find(bytes, kExpress);
  ASSERT_TRUE(at);
  EXPECT_EQ(number(bytes, *at + 12, 4) & 0xf, 5u);
  EXPECT_EQ(number(bytes, *at + 12, 4) >> 4 & 0x3f, 16u);
  EXPECT_EQ(number(bytes, *at + 18, 2) & 0xf, 3u);
  EXPECT_EQ(number(bytes, *at + 18, 2) >> 4 & 0x3f, 8u);
}

TEST(PciConfig, SaysHowItReadsAndWhetherItsWritesMayPassOthers) {
  const auto control = [](const PciConfig& config) {
    const std::string bytes = config.bytes();
    return number(bytes, *find(bytes, kExpress) + 8, 2);
  };
  EXPECT_EQ(control({}) >> 12 & 7, 5u);  // 128 << 5 is 4096
  EXPECT_NE(control({}) & 1 << 4, 0u);
  const PciConfig slow{.read_request_bytes = 512, .relaxed_ordering = false};
  EXPECT_EQ(control(slow) >> 12 & 7, 2u);
  EXPECT_EQ(control(slow) & 1 << 4, 0u);
}

TEST(PciConfig, ARootPortHasAccessControlAndANicTranslation) {
  const std::string nic = PciConfig{}.bytes();
  EXPECT_TRUE(find_extended(nic, kAts));
  EXPECT_FALSE(find_extended(nic, kAcs));
  const std::string port = PciConfig{.is_root_port = true}.bytes();
  EXPECT_EQ(number(port, 0x0e, 1), 1u);
  const auto at = find_extended(port, kAcs);
  ASSERT_TRUE(at);
  EXPECT_EQ(number(port, *at + 6, 2), 0u);
  const std::string redirects = PciConfig{.is_root_port = true, .acs_redirects = true}.bytes();
  EXPECT_EQ(number(redirects, *at + 6, 2), 0x1du);
}

TEST(PciConfig, SpeedsAreNamedAsInSys) {
  EXPECT_EQ(pci_speed_text(1), "2.5 GT/s PCIe");
  EXPECT_EQ(pci_speed_text(5), "32.0 GT/s PCIe");
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

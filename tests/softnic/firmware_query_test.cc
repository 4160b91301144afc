// What the firmware tells about the device: each page of capabilities of each model, against
// capabilities.csv, and what there is none of.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/firmware/capabilities.h"
#include "core/format/prm/query.h"
#include "tests/format/csv.h"
#include "tests/softnic/asked_firmware.h"

namespace gdakit::softnic::test {
namespace {

using format::CsvRow;
using prm::AtomicCaps;
using prm::CmdHcaCap;
using prm::MboxIn;
using prm::MboxOut;
using prm::OdpCap;
using prm::Opcode;
using prm::QueryHcaCapIn;
using prm::QueryHcaCapOut;
using prm::RoceCap;
using Page = prm::CapabilityPage;
using Sy = CommandSyndrome;

enum class Extent : std::uint8_t { maximum = 0, current = 1 };

// Types of pages that clients ask for, by what the reference calls them (hca_cap_type).
const std::map<int, std::string> kTypes = {
    {0x00, "cmd_hca_cap"},
    {0x01, "offloads"},
    {0x02, "odp_cap"},
    {0x03, "atomic_caps"},
    {0x04, "roce_cap"},
    {0x05, "IPoIB"},
    {0x06, "enhanced IPoIB"},
    {0x07, "flow table"},
    {0x08, "e-switch flow table"},
    {0x09, "e-switch"},
    {0x0c, "QoS"},
    {0x0d, "debug"},
    {0x0e, "NVMe-oF"},
    {0x0f, "device_mem_cap"},
    {0x11, "TLS"},
    {0x13, "vDPA"},
    {0x14, "device events"},
    {0x15, "IPsec"},
    {0x1a, "crypto"},
    {0x1b, "WQE flow table"},
    {0x1c, "parse graph"},
    {0x1d, "SHAMPO"},
    {0x1f, "MACsec"},
    {0x20, "cmd_hca_cap_2"},
    {0x25, "port selection"},
    {0x26, "virtualization"},
    {0x28, "RDMA control"},
};

std::uint32_t number(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 0));
}

std::uint32_t bits_at(std::span<const std::uint8_t> page, std::uint32_t offset,
                      std::uint32_t width) {
  std::uint32_t value = 0;
  for (std::uint32_t bit = offset; bit < offset + width; ++bit) {
    value = value << 1 | (page[bit / 8] >> (7 - bit % 8) & 1u);
  }
  return value;
}

class Asked : public AskedFirmware {
 public:
  using AskedFirmware::AskedFirmware;

  Status ask_for_page(int type, Extent extent, prm::Mailbox<QueryHcaCapOut>& out) {
    prm::Mailbox<QueryHcaCapIn> in;
    in.set(MboxIn::op_mod,
           static_cast<std::uint64_t>(type) << 1 | static_cast<std::uint64_t>(extent));
    return ask(Opcode::query_hca_cap, in, out.bytes());
  }
  prm::Mailbox<QueryHcaCapOut> page(int type, Extent extent = Extent::current) {
    prm::Mailbox<QueryHcaCapOut> out;
    EXPECT_TRUE(ask_for_page(type, extent, out).ok()) << kTypes.at(type);
    return out;
  }
  template <class Layout>
  prm::Mailbox<Layout> page(Page type) {
    const auto out = page(static_cast<int>(type));
    prm::Mailbox<Layout> found;
    std::copy_n(out.at(QueryHcaCapOut::capability).begin(), Layout::kBytes, found.bytes().begin());
    return found;
  }
};

bool is_there(const std::string& needs, const FirmwareIdentity& identity) {
  if (needs == "ethernet") return identity.ethernet;
  if (needs == "infiniband") return !identity.ethernet;
  return needs.empty() || has_on_demand_memory();
}

TEST(FirmwareQuery, EachPageIsThatOfTheTable) {
  const std::vector<CsvRow> rows = format::read_csv("backends/softnic/firmware/capabilities.csv");
  ASSERT_GE(rows.size(), 50u) << "the table could not be read";
  for (const int model : {6, 7, 8}) {
    for (const bool ethernet : {false, true}) {
      Asked device({.model = model, .ethernet = ethernet});
      for (const auto& [type, name] : kTypes) {
        const auto out = device.page(type);
        const auto page = out.at(QueryHcaCapOut::capability);
        std::uint64_t expected_bits = 0;
        for (const CsvRow& row : rows) {
          if (row.at("page") != name || !is_there(row.at("needs"), {model, ethernet})) continue;
          const std::uint32_t value = number(row.at("connectx" + std::to_string(model)));
          EXPECT_EQ(bits_at(page, number(row.at("bit_offset")), number(row.at("bit_width"))), value)
              << name << '.' << row.at("field") << " of ConnectX-" << model;
          expected_bits += static_cast<std::uint64_t>(std::popcount(value));
        }
        EXPECT_EQ(bits_set(page), expected_bits) << name << " of ConnectX-" << model;
      }
    }
  }
}

TEST(FirmwareQuery, WhatIsAndWhatCouldBeAreTheSame) {
  Asked device;
  for (const auto& [type, name] : kTypes) {
    const auto most = device.page(type, Extent::maximum), now = device.page(type, Extent::current);
    EXPECT_TRUE(std::ranges::equal(most.bytes(), now.bytes())) << name;
  }
}

TEST(FirmwareQuery, NoOtherPageIsThere) {
  Asked device;
  prm::Mailbox<QueryHcaCapOut> out;
  for (int type = 0; type < 1 << 15; ++type) {
    const Status status = device.ask_for_page(type, Extent::current, out);
    ASSERT_EQ(status.ok(), kTypes.contains(type)) << type;
    if (status.ok()) continue;
    ASSERT_EQ(status.status, CommandStatus::bad_param);
    ASSERT_EQ(status.syndrome, Sy::mailbox_capability);
  }
}

// As clients read them.
TEST(FirmwareQuery, ClientsFindWhatTheyAskAbout) {
  Asked device;
  const auto general = device.page<CmdHcaCap>(Page::cmd_hca_cap);
  EXPECT_EQ(general.get(CmdHcaCap::cqe_version), 1u);
  EXPECT_EQ(general.get(CmdHcaCap::log_bf_reg_size), 9u);
  EXPECT_EQ(general.get(CmdHcaCap::log_max_msg), 30u);
  EXPECT_EQ(general.get(CmdHcaCap::log_max_rmp), 23u);
  EXPECT_EQ(general.get(CmdHcaCap::hca_cap_2), 1u);
  EXPECT_EQ(general.get(CmdHcaCap::pg), has_on_demand_memory() ? 1u : 0u);
  const auto atomics = device.page<AtomicCaps>(Page::atomic_caps);
  EXPECT_EQ(atomics.get(AtomicCaps::atomic_req_8B_endianness_mode), 1u);
  EXPECT_EQ(atomics.get(AtomicCaps::supported_atomic_req_8B_endianness_mode_1), 1u);
  EXPECT_EQ(atomics.get(AtomicCaps::atomic_operations), 0xfu);
  EXPECT_EQ(atomics.get(AtomicCaps::atomic_size_qp), 4u | 8u);
  EXPECT_EQ(atomics.get(AtomicCaps::atomic_size_dc), 4u | 8u);
}

TEST(FirmwareQuery, ThePortHasOneLinkLayer) {
  for (const bool ethernet : {false, true}) {
    Asked device({.ethernet = ethernet});
    const auto general = device.page<CmdHcaCap>(Page::cmd_hca_cap);
    const auto roce = device.page<RoceCap>(Page::roce_cap);
    EXPECT_EQ(general.get(CmdHcaCap::num_ports), 1u);
    EXPECT_EQ(general.get(CmdHcaCap::port_type), ethernet ? 1u : 0u);
    EXPECT_EQ(general.get(CmdHcaCap::roce), ethernet ? 1u : 0u);
    EXPECT_EQ(roce.get(RoceCap::roce_address_table_size), ethernet ? kRoceAddresses : 0u);
    EXPECT_EQ(roce.get(RoceCap::r_roce_dest_udp_port), ethernet ? 4791u : 0u);
  }
}

// Whether this process can page on demand or not.
TEST(FirmwareQuery, PagingIsToldWhereItIsThere) {
  for (const bool paged : {false, true}) {
    const CapableDevice device{.on_demand_memory = paged};
    std::array<std::uint8_t, kCapabilityPageBytes> general{}, odp{};
    ASSERT_TRUE(write_capabilities(Page::cmd_hca_cap, device, general));
    ASSERT_TRUE(write_capabilities(Page::odp_cap, device, odp));
    EXPECT_EQ(prm::View<CmdHcaCap>(general).get(CmdHcaCap::pg), paged ? 1u : 0u);
    const prm::View<OdpCap> view(odp);
    namespace transport = prm::odp_transport;
    constexpr std::uint32_t kRc = transport::send | transport::receive | transport::write |
                                  transport::read | transport::srq_receive;
    EXPECT_EQ(view.get(OdpCap::rc_odp_caps), paged ? kRc : 0u);
    EXPECT_EQ(view.get(OdpCap::ud_odp_caps), paged ? transport::send : 0u);
    EXPECT_EQ(view.get(OdpCap::uc_odp_caps), 0u);
  }
}

TEST(FirmwareQuery, AnotherFunctionIsNotThere) {
  Asked device;
  prm::Mailbox<QueryHcaCapIn> in;
  prm::Mailbox<QueryHcaCapOut> out;
  in.set(QueryHcaCapIn::function_id, 1);  // whose, says the bit
  EXPECT_TRUE(device.ask(Opcode::query_hca_cap, in, out.bytes()).ok());
  in.set(QueryHcaCapIn::other_function, 1);
  EXPECT_EQ(device.ask(Opcode::query_hca_cap, in, out.bytes()).syndrome, Sy::mailbox_function);
}

// What a client has no room for it does not get, as long as it has room for the header.
TEST(FirmwareQuery, AnAnswerIsCutToItsRoom) {
  Asked device;
  const prm::Mailbox<MboxIn> in;
  const std::vector<std::pair<Opcode, std::size_t>> sizes = {
      {Opcode::query_hca_cap, QueryHcaCapOut::kBytes},
      {Opcode::query_issi, prm::QueryIssiOut::kBytes},
      {Opcode::query_lag, prm::QueryLagOut::kBytes},
      {Opcode::nop, MboxOut::kBytes},
      {Opcode::query_roce_address, prm::QueryRoceAddressOut::kBytes},
  };
  for (const auto& [opcode, bytes] : sizes) {
    std::vector<std::uint8_t> whole(bytes + 100);
    ASSERT_TRUE(device.ask(opcode, in, whole).ok());
    EXPECT_EQ(bits_set(std::span(whole).subspan(bytes)), 0u);
    std::vector<std::uint8_t> out(bytes + 100);
    for (std::size_t size = 0; size < bytes; ++size) {
      const Status status = device.ask(opcode, in, std::span(out).first(size));
      const bool fits = size >= MboxOut::kBytes;
      ASSERT_EQ(status.status, fits ? CommandStatus::ok : CommandStatus::bad_outp_len);
      if (!fits) continue;
      ASSERT_TRUE(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size),
                             out.begin()));
      ASSERT_EQ(out[size], 0) << "is not part of the answer";
    }
  }
}

TEST(FirmwareQuery, LinksAreNotAggregated) {
  Asked device;
  prm::Mailbox<prm::QueryLagOut> out;
  ASSERT_TRUE(device.ask(Opcode::query_lag, prm::Mailbox<MboxIn>(), out.bytes()).ok());
  EXPECT_EQ(bits_set(out.bytes()), 0u);
  EXPECT_EQ(out.at(prm::QueryLagOut::ctx).get(prm::Lagc::lag_state), 0u);
}

TEST(FirmwareQuery, TheInterfaceIsThatOfIssi1) {
  Asked device;
  prm::Mailbox<prm::QueryIssiOut> out;
  ASSERT_TRUE(device.ask(Opcode::query_issi, prm::Mailbox<MboxIn>(), out.bytes()).ok());
  EXPECT_EQ(out.get(prm::QueryIssiOut::current_issi), 1u);
  EXPECT_EQ(out.get(prm::QueryIssiOut::supported_issi_dw0), 2u);
}

TEST(FirmwareQuery, ANopIsAnswered) {
  Asked device;
  prm::Mailbox<MboxOut> out;
  EXPECT_TRUE(device.ask(Opcode::nop, prm::Mailbox<MboxIn>(), out.bytes()).ok());
}

// Whatever a mailbox says, there is an answer.
TEST(FirmwareQuery, RandomQuestionsAreAnswered) {
  Asked device;
  std::mt19937 random{1};
  constexpr std::array kOpcodes = {Opcode::query_hca_cap, Opcode::query_roce_address,
                                   Opcode::query_issi, Opcode::query_lag, Opcode::nop};
  std::vector<std::uint8_t> out(QueryHcaCapOut::kBytes + 16);
  std::map<CommandStatus, int> answers;
  for (int i = 0; i < 20'000; ++i) {
    prm::Mailbox<MboxIn> in;
    // Small numbers, mostly: all pages and addresses have some.
    for (std::uint8_t& byte : in.bytes()) {
      if (random() % 8 == 0) byte = static_cast<std::uint8_t>(random());
    }
    const Opcode opcode = kOpcodes[random() % kOpcodes.size()];
    const std::size_t size = random() % 4 == 0 ? random() % 64 : out.size();
    ++answers[device.ask(opcode, in, std::span(out).first(size)).status];
  }
  for (const CommandStatus status :
       {CommandStatus::ok, CommandStatus::bad_param, CommandStatus::bad_outp_len}) {
    EXPECT_GT(answers[status], 100);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test

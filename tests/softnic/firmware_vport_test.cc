// What the firmware tells of the port and of who made the NIC.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/prm/vport.h"
#include "tests/softnic/asked_firmware.h"

namespace gdakit::softnic::test {
namespace {

using prm::HcaVportContext;
using prm::NicVportContext;
using prm::Opcode;
using Sy = CommandSyndrome;

constexpr std::uint64_t kGuid = 0x0c42a10300000001;

FirmwareIdentity identity(bool ethernet, const bool& up) {
  return {.ethernet = ethernet,
          .guid = kGuid,
          .mac = {0x0c, 0x42, 0xa1, 0, 0, 1},
          .lid = 3,
          .sm_lid = 1,
          .board = "MT_0000000001",
          .port_is_up = [&up] { return up; }};
}

class FirmwareVport : public testing::Test {
 protected:
  bool up = true;
  AskedFirmware roce{identity(true, up)};
  AskedFirmware infiniband{identity(false, up)};
};

TEST_F(FirmwareVport, TheNicsContextHasItsNames) {
  prm::Mailbox<prm::QueryNicVportContextOut> out;
  ASSERT_TRUE(roce.ask(Opcode::query_nic_vport_context, prm::Mailbox<prm::QueryNicVportContextIn>(),
                       out.bytes())
                  .ok());
  const auto context = out.at(prm::QueryNicVportContextOut::nic_vport_context);
  EXPECT_EQ(context.get(NicVportContext::roce_en), 1u);
  EXPECT_EQ(context.get(NicVportContext::node_guid), kGuid);
  EXPECT_EQ(context.get(NicVportContext::port_guid), kGuid);
  EXPECT_EQ(context.get(NicVportContext::mtu), 1500u);
  const auto mac = context.at(NicVportContext::permanent_address);
  EXPECT_EQ(mac.get(prm::MacAddressLayout::mac_addr_47_32), 0x0c42u);
  EXPECT_EQ(mac.get(prm::MacAddressLayout::mac_addr_31_0), 0xa1000001u);
  ASSERT_TRUE(infiniband
                  .ask(Opcode::query_nic_vport_context, prm::Mailbox<prm::QueryNicVportContextIn>(),
                       out.bytes())
                  .ok());
  EXPECT_EQ(context.get(NicVportContext::roce_en), 0u);
}

TEST_F(FirmwareVport, ThePortOfInfiniBandHasItsState) {
  for (const bool is_up : {true, false}) {
    up = is_up;
    prm::Mailbox<prm::QueryHcaVportContextOut> out;
    ASSERT_TRUE(infiniband
                    .ask(Opcode::query_hca_vport_context,
                         prm::Mailbox<prm::QueryHcaVportContextIn>(), out.bytes())
                    .ok());
    const auto context = out.at(prm::QueryHcaVportContextOut::hca_vport_context);
    EXPECT_EQ(context.get(HcaVportContext::port_state), up ? 4u : 1u);
    EXPECT_EQ(context.get(HcaVportContext::port_physical_state), up ? 5u : 3u);
    EXPECT_EQ(context.get(HcaVportContext::lid), 3u);
    EXPECT_EQ(context.get(HcaVportContext::sm_lid), 1u);
    EXPECT_EQ(context.get(HcaVportContext::port_guid), kGuid);
    prm::Mailbox<prm::QueryVportStateOut> state;
    ASSERT_TRUE(
        roce.ask(Opcode::query_vport_state, prm::Mailbox<prm::QueryVportStateIn>(), state.bytes())
            .ok());
    EXPECT_EQ(state.get(prm::QueryVportStateOut::state), up ? 1u : 0u);
    EXPECT_EQ(state.get(prm::QueryVportStateOut::admin_state), 1u);
  }
}

TEST_F(FirmwareVport, APortOfEthernetHasNoContextOfInfiniBand) {
  prm::Mailbox<prm::QueryHcaVportContextOut> out;
  EXPECT_EQ(roce.ask(Opcode::query_hca_vport_context, prm::Mailbox<prm::QueryHcaVportContextIn>(),
                     out.bytes())
                .syndrome,
            Sy::mailbox_link_layer);
}

TEST_F(FirmwareVport, ThereAreNoOthers) {
  std::vector<std::uint8_t> out(prm::QueryHcaVportContextOut::kBytes);
  prm::Mailbox<prm::QueryHcaVportContextIn> in;
  in.set(prm::QueryHcaVportContextIn::port_num, 2);
  EXPECT_EQ(infiniband.ask(Opcode::query_hca_vport_context, in, out).syndrome, Sy::mailbox_port);
  in.set(prm::QueryHcaVportContextIn::port_num, 1);
  EXPECT_TRUE(infiniband.ask(Opcode::query_hca_vport_context, in, out).ok());
  in.set(prm::QueryHcaVportContextIn::other_vport, 1);
  for (const Opcode opcode : {Opcode::query_hca_vport_context, Opcode::query_nic_vport_context,
                              Opcode::query_vport_state}) {
    EXPECT_EQ(infiniband.ask(opcode, in, out).syndrome, Sy::mailbox_function);
  }
}

// As UCX has, whose context is shorter.
TEST_F(FirmwareVport, AnAnswerMayBeCut) {
  constexpr std::size_t kShort = 524;
  std::vector<std::uint8_t> out(kShort);
  EXPECT_TRUE(
      infiniband
          .ask(Opcode::query_hca_vport_context, prm::Mailbox<prm::QueryHcaVportContextIn>(), out)
          .ok());
}

TEST_F(FirmwareVport, TheAdapterHasVendorAndBoard) {
  prm::Mailbox<prm::QueryAdapterOut> out;
  ASSERT_TRUE(roce.ask(Opcode::query_adapter, prm::Mailbox<prm::MboxIn>(), out.bytes()).ok());
  const auto block = out.at(prm::QueryAdapterOut::query_adapter_struct);
  EXPECT_EQ(block.get(prm::QueryAdapterParamBlock::ieee_vendor_id), 0x2c9u);
  const auto psid = block.at(prm::QueryAdapterParamBlock::vsd_contd_psid);
  EXPECT_EQ(std::string(psid.begin(), psid.begin() + 13), "MT_0000000001");
}

}  // namespace
}  // namespace gdakit::softnic::test

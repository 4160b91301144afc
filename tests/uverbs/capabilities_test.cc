// What the firmware says that the device can do (firmware/capabilities.csv) is what verbs say.
#include "backends/softnic/firmware/capabilities.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/firmware/identity.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using format::prm::CmdHcaCap;
using format::prm::DeviceMemCap;
using format::prm::OdpCap;
using Page = format::prm::CapabilityPage;

class UverbsCapabilities : public testing::Test {
 protected:
  // Of NICs of the model and link layer that the text names.
  void open(const std::string& text) {
    Spec spec = *Spec::parse(text);
    spec.fabric = own_spec().fabric;
    context_.reset();  // before its device
    device_ = open_device(spec);
    context_ = std::make_unique<Context>(*device_);
    ASSERT_EQ(get_context(*context_), 0);
    ib_uverbs_ex_query_device request{};
    WriteCall call(kExtendedCommand | IB_USER_VERBS_CMD_QUERY_DEVICE);
    ASSERT_EQ(call.core_in(request).core_out(verbs_).make(*context_), 0);
    ASSERT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
                  .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint8_t{1})
                  .out(UVERBS_ATTR_QUERY_PORT_RESP, port_)
                  .make(*context_),
              0);
    ASSERT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT)
                  .out(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, driver_)
                  .make(*context_),
              0);
  }
  template <class Layout>
  format::prm::View<Layout> page(Page page) {
    const Identity& identity = device_->identity();
    bytes_.fill(0);
    EXPECT_TRUE(write_capabilities(page,
                                   {.model = identity.model().number,
                                    .ethernet = identity.link() == LinkLayer::ethernet,
                                    .on_demand_memory = has_on_demand_memory()},
                                   bytes_));
    return format::prm::View<Layout>(bytes_);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Context> context_;
  ib_uverbs_ex_query_device_resp verbs_{};
  ib_uverbs_query_port_resp_ex port_{};
  mlx5_ib_alloc_ucontext_resp driver_{};
  std::array<std::uint8_t, kCapabilityPageBytes> bytes_{};
};

constexpr std::uint64_t power(std::uint64_t exponent) { return std::uint64_t{1} << exponent; }

TEST_F(UverbsCapabilities, LimitsAreThoseOfVerbs) {
  for (const char* spec : {"model=6", "model=7", "model=8"}) {
    ASSERT_NO_FATAL_FAILURE(open(spec));
    const auto caps = page<CmdHcaCap>(Page::cmd_hca_cap);
    const ib_uverbs_query_device_resp& verbs = verbs_.base;
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_qp)), verbs.max_qp);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_qp_sz)), verbs.max_qp_wr);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_cq)), verbs.max_cq);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_cq_sz)) - 1, verbs.max_cqe);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_srq)), verbs.max_srq);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_srq_sz)) - 1, verbs.max_srq_wr);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_mkey)), verbs.max_mr);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_mkey)), verbs.max_mw);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_pd)), verbs.max_pd);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_ra_req_qp)), verbs.max_qp_init_rd_atom);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_ra_res_qp)), verbs.max_qp_rd_atom);
    EXPECT_EQ(power(caps.get(CmdHcaCap::pkey_table_size)) * 128, verbs.max_pkeys);
    EXPECT_EQ(~(power(caps.get(CmdHcaCap::log_pg_sz)) - 1), verbs.page_size_cap);
    EXPECT_EQ(caps.get(CmdHcaCap::local_ca_ack_delay), verbs.local_ca_ack_delay);
    EXPECT_EQ(caps.get(CmdHcaCap::num_ports), verbs.phys_port_cnt);
    EXPECT_EQ(caps.get(CmdHcaCap::device_frequency_khz), verbs_.hca_core_clock);
    EXPECT_EQ(caps.get(CmdHcaCap::atomic) != 0, verbs.atomic_cap != 0);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_max_msg)), port_.legacy_resp.max_msg_sz);
    EXPECT_EQ(caps.get(CmdHcaCap::max_wqe_sz_sq), driver_.max_sq_desc_sz);
    EXPECT_EQ(caps.get(CmdHcaCap::max_wqe_sz_rq), driver_.max_rq_desc_sz);
    EXPECT_EQ(power(caps.get(CmdHcaCap::log_bf_reg_size)), driver_.bf_reg_size);
    EXPECT_EQ(caps.get(CmdHcaCap::cqe_version), driver_.cqe_version);
    EXPECT_EQ(page<DeviceMemCap>(Page::device_mem_cap).get(DeviceMemCap::max_memic_size),
              verbs_.max_dm_size);
  }
}

// Verbs have the transports' bits in the other order.
TEST_F(UverbsCapabilities, PagingIsThatOfVerbs) {
  open("");
  const auto reversed = [](std::uint64_t word) {
    std::uint32_t bits = 0;
    for (int bit = 0; bit < 32; ++bit) bits |= (word >> bit & 1) << (31 - bit);
    return bits;
  };
  EXPECT_EQ(page<CmdHcaCap>(Page::cmd_hca_cap).get(CmdHcaCap::pg),
            verbs_.odp_caps.general_caps & 1);
  const auto caps = page<OdpCap>(Page::odp_cap);
  EXPECT_EQ(reversed(caps.get(OdpCap::rc_odp_caps)),
            verbs_.odp_caps.per_transport_caps.rc_odp_caps);
  EXPECT_EQ(reversed(caps.get(OdpCap::uc_odp_caps)),
            verbs_.odp_caps.per_transport_caps.uc_odp_caps);
  EXPECT_EQ(reversed(caps.get(OdpCap::ud_odp_caps)),
            verbs_.odp_caps.per_transport_caps.ud_odp_caps);
}

TEST_F(UverbsCapabilities, TheLinkLayerIsThatOfVerbs) {
  using format::prm::RoceCap;
  for (const auto& [spec, ethernet] : {std::pair{"link=roce", true}, {"link=ib", false}}) {
    ASSERT_NO_FATAL_FAILURE(open(spec));
    EXPECT_EQ(page<CmdHcaCap>(Page::cmd_hca_cap).get(CmdHcaCap::port_type), ethernet ? 1u : 0u);
    EXPECT_EQ(page<RoceCap>(Page::roce_cap).get(RoceCap::roce_address_table_size),
              ethernet ? port_.legacy_resp.gid_tbl_len : 0u);
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs

#include "tests/verbs/gpu/nic.h"

#include <chrono>

#include <gtest/gtest.h>

namespace gdakit::verbs_gpu {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::uint8_t kGid = 1;  // RoCE v2, link local

}  // namespace

Nic::Nic() {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  EXPECT_GT(count, 0);
  if (count == 0) return;
  mlx5dv_context_attr attributes{};
  attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  context_ = mlx5dv_open_device(devices[0], &attributes);
  ibv_free_device_list(devices);
  pd_ = ibv_alloc_pd(context_);
  cq_ = ibv_create_cq(context_, 256, nullptr, nullptr, 0);
  EXPECT_NE(cq_, nullptr);
}

Nic::~Nic() {
  EXPECT_EQ(ibv_destroy_cq(cq_), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd_), 0);
  EXPECT_EQ(ibv_close_device(context_), 0);
}

ibv_gid Nic::gid() const {
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context_, 1, kGid, &gid), 0);
  return gid;
}

int Nic::next_status() const {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < limit) {
    ibv_wc completion{};
    if (ibv_poll_cq(cq_, 1, &completion) == 1) return completion.status;
  }
  return -1;
}

void connect(const Nic& nic, ibv_qp* qp, std::uint32_t peer) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = kAllAccess;
  EXPECT_EQ(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            0);
  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer;
  attr.max_dest_rd_atomic = 8;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh = {nic.gid(), 0, kGid, 64, 0};
  EXPECT_EQ(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 18;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 8;
  EXPECT_EQ(ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
            0);
}

Pair::Pair(const Nic& nic) : nic_(nic) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = nic.cq();
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap = {64, 64, 1, 1, 0};
  first_ = ibv_create_qp(nic.pd(), &init);
  second_ = ibv_create_qp(nic.pd(), &init);
  connect(nic, first_, second_->qp_num);
  connect(nic, second_, first_->qp_num);
}

Pair::~Pair() {
  EXPECT_EQ(ibv_destroy_qp(first_), 0);
  EXPECT_EQ(ibv_destroy_qp(second_), 0);
}

int Pair::run(ibv_send_wr request) const {
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(first_, &request, &bad), 0);
  return nic_.next_status();
}

}  // namespace gdakit::verbs_gpu

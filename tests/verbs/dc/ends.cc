#include "tests/verbs/dc/ends.h"

#include <arpa/inet.h>
#include <chrono>
#include <thread>

namespace dc {
namespace {

constexpr int kSendDepth = 64, kReads = 4;
constexpr auto kLimit = std::chrono::seconds(60);

ibv_wc next(ibv_cq* cq) {
  ibv_wc wc{};
  for (const auto limit = std::chrono::steady_clock::now() + kLimit;;) {
    const int count = ibv_poll_cq(cq, 1, &wc);
    check(count >= 0, "ibv_poll_cq");
    if (count == 1) return wc;
    check(std::chrono::steady_clock::now() < limit, "no completion comes");
    std::this_thread::yield();
  }
}

ibv_ah_attr way_to(const Device& device) {
  ibv_ah_attr way{};
  way.port_num = 1;
  way.dlid = device.port.lid;
  way.is_global = device.ethernet ? 1 : 0;
  way.grh.dgid = device.gid;
  way.grh.sgid_index = 1;
  way.grh.hop_limit = 64;
  return way;
}

void modify(ibv_qp* qp, ibv_qp_attr attributes, int mask) {
  check(ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE) == 0, "ibv_modify_qp");
}

}  // namespace

Device::Device(std::size_t bytes) : memory(bytes) {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  check(devices != nullptr && devices[0] != nullptr, "there is no device");
  check(mlx5dv_is_supported(devices[0]), "the device is none of libmlx5's");
  mlx5dv_context_attr with_devx{};
  context = mlx5dv_open_device(devices[0], &with_devx);
  ibv_free_device_list(devices);
  check(context != nullptr, "mlx5dv_open_device");
  check(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
  ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
  check(ibv_query_gid(context, 1, ethernet ? 1 : 0, &gid) == 0, "ibv_query_gid");
  pd = ibv_alloc_pd(context);
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC;
  mr = pd == nullptr ? nullptr : ibv_reg_mr(pd, memory.data(), memory.size(), kAll);
  check(mr != nullptr, "ibv_reg_mr");
}

Device::~Device() {
  if (mr != nullptr) ibv_dereg_mr(mr);
  if (pd != nullptr) ibv_dealloc_pd(pd);
  if (context != nullptr) ibv_close_device(context);
}

Target::Target(Device& of, std::uint64_t key) : device(of) {
  cq = ibv_create_cq(device.context, kDepth, nullptr, nullptr, 0);
  check(cq != nullptr, "ibv_create_cq");
  ibv_srq_init_attr shared{};
  shared.attr.max_wr = kDepth;
  shared.attr.max_sge = 1;
  srq = ibv_create_srq(device.pd, &shared);
  check(srq != nullptr, "ibv_create_srq");
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_DRIVER;
  init.send_cq = init.recv_cq = cq;
  init.srq = srq;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = device.pd;
  mlx5dv_qp_init_attr own{};
  own.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  own.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCT;
  own.dc_init_attr.dct_access_key = key;
  qp = mlx5dv_create_qp(device.context, &init, &own);
  check(qp != nullptr, "mlx5dv_create_qp of a target");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  modify(qp, attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr = way_to(device);
  modify(qp, attributes, IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
  check(qp->qp_num != 0, "a target in state RTR has a number");
  way = ibv_create_ah(device.pd, &attributes.ah_attr);
  check(way != nullptr, "ibv_create_ah");
}

void Target::destroy() {
  if (qp != nullptr) check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp of a target");
  qp = nullptr;
}

Target::~Target() {
  if (qp != nullptr) ibv_destroy_qp(qp);
  if (way != nullptr) ibv_destroy_ah(way);
  if (srq != nullptr) ibv_destroy_srq(srq);
  if (cq != nullptr) ibv_destroy_cq(cq);
}

void Target::post_receive(std::size_t offset, std::uint32_t bytes, std::uint64_t id) {
  ibv_sge sge{device.address(offset), bytes, device.mr->lkey};
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  check(ibv_post_srq_recv(srq, &wr, &bad) == 0, "ibv_post_srq_recv");
}

ibv_wc Target::wait() { return next(cq); }

Initiator::Initiator(Device& device) : device_(device) {
  cq_ = ibv_create_cq(device.context, kSendDepth, nullptr, nullptr, 0);
  check(cq_ != nullptr, "ibv_create_cq");
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_DRIVER;
  init.send_cq = init.recv_cq = cq_;
  init.cap.max_send_wr = kSendDepth;
  init.cap.max_send_sge = 1;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = device.pd;
  init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                        IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  mlx5dv_qp_init_attr own{};
  own.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  own.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
  qp_ = mlx5dv_create_qp(device.context, &init, &own);
  check(qp_ != nullptr, "mlx5dv_create_qp of an initiator");
  work_ = ibv_qp_to_qp_ex(qp_);
  dc_ = mlx5dv_qp_ex_from_ibv_qp_ex(work_);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  modify(qp_, attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.ah_attr = way_to(device);
  modify(qp_, attributes, IBV_QP_PATH_MTU | IBV_QP_AV);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = 3;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = kReads;
  modify(qp_, attributes,
         IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
             IBV_QP_SQ_PSN);
}

Initiator::~Initiator() {
  if (qp_ != nullptr) ibv_destroy_qp(qp_);
  if (cq_ != nullptr) ibv_destroy_cq(cq_);
}

template <class Fill>
void Initiator::post(const Target& target, std::uint64_t key, std::size_t from, std::uint32_t bytes,
                     const Fill& fill) {
  ibv_wr_start(work_);
  work_->wr_id = from;
  work_->wr_flags = IBV_SEND_SIGNALED;
  fill();
  mlx5dv_wr_set_dc_addr(dc_, target.way, target.number(), key);
  ibv_wr_set_sge(work_, device_.mr->lkey, device_.address(from), bytes);
  check(ibv_wr_complete(work_) == 0, "ibv_wr_complete");
}

void Initiator::write(const Target& target, std::uint64_t key, std::size_t from, std::size_t to,
                      std::uint32_t bytes) {
  post(target, key, from, bytes,
       [&] { ibv_wr_rdma_write(work_, device_.mr->rkey, device_.address(to)); });
}

void Initiator::read(const Target& target, std::uint64_t key, std::size_t to, std::size_t from,
                     std::uint32_t bytes) {
  post(target, key, to, bytes,
       [&] { ibv_wr_rdma_read(work_, device_.mr->rkey, device_.address(from)); });
}

void Initiator::send(const Target& target, std::uint64_t key, std::size_t from, std::uint32_t bytes,
                     std::uint32_t imm) {
  post(target, key, from, bytes, [&] { ibv_wr_send_imm(work_, htonl(imm)); });
}

void Initiator::fetch_add(const Target& target, std::uint64_t key, std::size_t result,
                          std::size_t word, std::uint64_t add) {
  post(target, key, result, sizeof add,
       [&] { ibv_wr_atomic_fetch_add(work_, device_.mr->rkey, device_.address(word), add); });
}

ibv_wc_status Initiator::wait() { return next(cq_).status; }

int Initiator::poll(ibv_wc_status& first_error) {
  ibv_wc wc[16];
  const int count = ibv_poll_cq(cq_, 16, wc);
  check(count >= 0, "ibv_poll_cq");
  for (int i = 0; i < count; ++i) {
    if (first_error == IBV_WC_SUCCESS) first_error = wc[i].status;
  }
  return count;
}

}  // namespace dc

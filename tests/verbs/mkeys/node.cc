#include "tests/verbs/mkeys/node.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace gdakit::mkeys {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::uint32_t kPsn = 0x1234;

template <class Object>
Owned<Object> owned(Object* object, const char* what) {
  if (object == nullptr) give_up(what);
  return Owned<Object>(object);
}

Owned<ibv_qp> make_qp(ibv_context* context, ibv_pd* pd, ibv_cq* cq) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {16, 16, 1, 1, 512};
  attributes.qp_type = IBV_QPT_RC;
  attributes.pd = pd;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_LOCAL_INV;
  mlx5dv_qp_init_attr direct{};
  direct.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
  direct.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
                          MLX5DV_QP_EX_WITH_MKEY_CONFIGURE;
  return owned(mlx5dv_create_qp(context, &attributes, &direct), "no queue pair");
}

Owned<mlx5dv_mkey> make_mkey(ibv_pd* pd) {
  mlx5dv_mkey_init_attr attributes{};
  attributes.pd = pd;
  attributes.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
  attributes.max_entries = kMostParts;
  return owned(mlx5dv_create_mkey(&attributes), "no memory key");
}

void set(ibv_qp* qp, ibv_qp_attr& attributes, int mask) {
  if (ibv_modify_qp(qp, &attributes, mask) != 0) give_up("a queue pair does not change its state");
}

void bring_up(ibv_qp* qp, ibv_qp* peer) {
  ibv_qp_attr to{};
  to.qp_state = IBV_QPS_INIT;
  to.port_num = 1;
  to.qp_access_flags = kAccess;
  set(qp, to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  ibv_port_attr port{};
  if (ibv_query_port(qp->context, 1, &port) != 0) give_up("no port 1");
  to = {};
  to.qp_state = IBV_QPS_RTR;
  to.path_mtu = IBV_MTU_1024;
  to.dest_qp_num = peer->qp_num;
  to.rq_psn = kPsn;
  to.max_dest_rd_atomic = 4;
  to.min_rnr_timer = 12;
  to.ah_attr.port_num = 1;
  to.ah_attr.dlid = port.lid;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    to.ah_attr.is_global = 1;
    to.ah_attr.grh.hop_limit = 1;
    to.ah_attr.grh.sgid_index = 1;
    if (ibv_query_gid(qp->context, 1, 1, &to.ah_attr.grh.dgid) != 0) give_up("no GID 1");
  }
  set(qp, to,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  to = {};
  to.qp_state = IBV_QPS_RTS;
  to.sq_psn = kPsn;
  to.timeout = 14;
  to.retry_cnt = to.rnr_retry = 7;
  to.max_rd_atomic = 4;
  set(qp, to,
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
          IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

void give_up(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

Node::Node(ibv_context* context)
    : pd_(owned(ibv_alloc_pd(context), "no protection domain")),
      cq_(owned(ibv_create_cq(context, 64, nullptr, nullptr, 0), "no completion queue")),
      mr_(owned(ibv_reg_mr(pd_.get(), bytes_.data(), bytes_.size(), kAccess), "no region")),
      qp_(make_qp(context, pd_.get(), cq_.get())),
      mkey_(make_mkey(pd_.get())),
      outer_(make_mkey(pd_.get())) {}

Layout Node::list_of(const std::vector<Part>& parts) {
  Layout layout;
  for (const Part& part : parts) {
    layout.list.push_back({address(part.at), part.bytes, mr_->lkey});
    for (std::size_t i = 0; i < part.bytes; ++i) layout.places.push_back(part.at + i);
  }
  return layout;
}

Layout Node::interleaved_of(std::uint32_t repeat, const std::vector<Part>& parts) {
  Layout layout;
  layout.repeat = repeat;
  for (const Part& part : parts) {
    layout.interleaved.push_back({address(part.at), part.bytes, part.skip, mr_->lkey});
  }
  for (std::size_t round = 0; round < repeat; ++round) {
    for (const Part& part : parts) {
      const std::size_t begin = part.at + round * (part.bytes + part.skip);
      for (std::size_t i = 0; i < part.bytes; ++i) layout.places.push_back(begin + i);
    }
  }
  return layout;
}

void Node::enable(mlx5dv_mkey* key, const Layout& layout, bool configures) {
  Layout given = layout;
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(qp_.get());
  mlx5dv_qp_ex* const direct = mlx5dv_qp_ex_from_ibv_qp_ex(extended);
  const auto parts = static_cast<std::uint16_t>(given.list.size() + given.interleaved.size());
  ibv_wr_start(extended);
  extended->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  if (configures) {
    mlx5dv_mkey_conf_attr attributes{};
    mlx5dv_wr_mkey_configure(direct, key, 2, &attributes);
    mlx5dv_wr_set_mkey_access_flags(direct, kAccess);
    if (given.repeat == 0) {
      mlx5dv_wr_set_mkey_layout_list(direct, parts, given.list.data());
    } else {
      mlx5dv_wr_set_mkey_layout_interleaved(direct, given.repeat, parts, given.interleaved.data());
    }
  } else if (given.repeat == 0) {
    mlx5dv_wr_mr_list(direct, key, kAccess, parts, given.list.data());
  } else {
    mlx5dv_wr_mr_interleaved(direct, key, kAccess, given.repeat, parts, given.interleaved.data());
  }
  if (ibv_wr_complete(extended) != 0) give_up("libmlx5 posts no layout");
  if (wait().status != IBV_WC_SUCCESS) give_up("a layout is refused");
}

ibv_wc_status Node::invalidate(mlx5dv_mkey* key) {
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(qp_.get());
  ibv_wr_start(extended);
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_local_inv(extended, key->rkey);
  if (ibv_wr_complete(extended) != 0) give_up("libmlx5 posts no invalidate");
  return wait().status;
}

void Node::receive(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey) {
  ibv_sge piece{address, bytes, lkey};
  ibv_recv_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(qp_.get(), &request, &bad) != 0) give_up("no receive is posted");
}

void Node::post(const Work& work) {
  ibv_sge piece{work.local, work.bytes, work.lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = work.opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  if (work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.wr.atomic.remote_addr = work.remote;
    request.wr.atomic.rkey = work.rkey;
    request.wr.atomic.compare_add = work.add;
  } else {
    request.wr.rdma.remote_addr = work.remote;
    request.wr.rdma.rkey = work.rkey;
  }
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(qp_.get(), &request, &bad) != 0) give_up("no work is posted");
}

ibv_wc Node::wait() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  ibv_wc completion{};
  for (;;) {
    const int count = ibv_poll_cq(cq_.get(), 1, &completion);
    if (count == 1) return completion;
    if (count < 0) give_up("the completion queue has failed");
    if (std::chrono::steady_clock::now() > end) give_up("no completion comes");
  }
}

void connect(Node& one, Node& other) {
  bring_up(one.qp(), other.qp());
  bring_up(other.qp(), one.qp());
}

}  // namespace gdakit::mkeys

// A NIC as a program opens it by libibverbs: mlx5_0, with a PD and a CQ.
#pragma once

#include <cstdint>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace gdakit::verbs_gpu {

class Nic {
 public:
  Nic();
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_; }
  ibv_cq* cq() const { return cq_; }
  ibv_gid gid() const;

  // Waits for one completion; its status, or -1 after ten seconds without one.
  int next_status() const;

 private:
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
};

constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                           IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

// Two queue pairs of one NIC that are connected to each other.
class Pair {
 public:
  explicit Pair(const Nic& nic);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Posts the request on the first one, and waits for it.
  int run(ibv_send_wr request) const;
  ibv_qp* first() const { return first_; }
  ibv_qp* second() const { return second_; }

 private:
  const Nic& nic_;
  ibv_qp* first_ = nullptr;
  ibv_qp* second_ = nullptr;
};

// RESET to RTS towards that queue pair of the same NIC.
void connect(const Nic& nic, ibv_qp* qp, std::uint32_t peer);

}  // namespace gdakit::verbs_gpu

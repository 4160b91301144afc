// A queue pair that a kernel drives: its queue, its CQ and its doorbell record lie in the GPU's
// memory, and the GPU rings. As NVSHMEM's IBGDA, DOCA GPUNetIO and NCCL's GIN make them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/mman.h>

#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "tests/verbs/gpu/gpu_memory.cuh"
#include "tests/verbs/gpu/nic.h"
#include "tests/verbs/gpu/queue_kernel.h"

namespace gdakit::verbs_gpu {
namespace {

namespace prm = format::prm;

constexpr std::uint32_t kLogDepth = 6;
constexpr std::uint32_t kDepth = 1u << kLogDepth;
// Where the parts lie in the buffer.
constexpr std::size_t kCqes = 8192;
constexpr std::size_t kRecord = 16384;
constexpr std::size_t kCqRecord = 16448;

template <class Layout>
std::uint8_t* bytes_of(prm::Mailbox<Layout>& box) {
  return box.bytes().data();
}

// Destroys in the order against that of making.
class GpuQp {
 public:
  enum class Ringing { with_record, without_record };

  GpuQp(const Nic& nic, Ringing ringing) : nic_(nic), without_(ringing == Ringing::without_record) {
    EXPECT_EQ(cudaMemset(reinterpret_cast<void*>(memory_.address() + kCqes),
                         format::kInvalidCqeByte, kDepth * sizeof(format::Cqe64)),
              cudaSuccess);
    make_umem();
    make_uar();
    make_cq();
    make_qp();
  }
  ~GpuQp() {
    EXPECT_EQ(mlx5dv_devx_obj_destroy(qp_), 0);
    EXPECT_EQ(mlx5dv_devx_obj_destroy(cq_), 0);
    EXPECT_EQ(cudaHostUnregister(registers_), cudaSuccess);
    mlx5dv_devx_free_uar(uar_);
    EXPECT_EQ(mlx5dv_devx_umem_dereg(umem_), 0);
  }
  GpuQp(const GpuQp&) = delete;
  GpuQp& operator=(const GpuQp&) = delete;

  std::uint32_t number() const { return queue_.qpn; }
  const GpuQueue& queue() const { return queue_; }

  void connect_to(std::uint32_t peer) {
    using prm::Qpc;
    prm::Mailbox<prm::Rst2initQpIn> in = request(prm::Opcode::rst2init_qp);
    in.at(prm::Rst2initQpIn::qpc).at(Qpc::primary_address_path).set(prm::Ads::vhca_port_num, 1);
    modify(in);
    in = request(prm::Opcode::init2rtr_qp);
    const auto to = in.at(prm::Rst2initQpIn::qpc);
    to.set(Qpc::mtu, 5);
    to.set(Qpc::log_msg_max, 30);
    to.set(Qpc::remote_qpn, peer);
    to.set(Qpc::min_rnr_nak, 12);
    const auto path = to.at(Qpc::primary_address_path);
    const ibv_gid gid = nic_.gid();
    std::copy_n(gid.raw, sizeof gid.raw, path.at(prm::Ads::rgid_rip).begin());
    path.set(prm::Ads::hop_limit, 255);
    path.set(prm::Ads::src_addr_index, 1);
    modify(in);
    in = request(prm::Opcode::rtr2rts_qp);
    in.at(prm::Rst2initQpIn::qpc).set(Qpc::retry_count, 7);
    in.at(prm::Rst2initQpIn::qpc).set(Qpc::rnr_retry, 7);
    in.at(prm::Rst2initQpIn::qpc).at(Qpc::primary_address_path).set(prm::Ads::ack_timeout, 18);
    modify(in);
  }

 private:
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_.address() + offset);
  }

  void make_umem() {
    const int file = memory_.dma_buf();
    mlx5dv_devx_umem_in in{};
    in.size = memory_.size();
    in.access = IBV_ACCESS_LOCAL_WRITE;
    in.pgsz_bitmap = ~std::uint64_t{0} << 12;
    in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
    in.dmabuf_fd = file;
    umem_ = mlx5dv_devx_umem_reg_ex(nic_.context(), &in);
    ASSERT_NE(umem_, nullptr) << std::strerror(errno);
    ::close(file);
  }

  void make_uar() {
    uar_ = mlx5dv_devx_alloc_uar(nic_.context(), MLX5DV_UAR_ALLOC_TYPE_NC);
    ASSERT_NE(uar_, nullptr);
    // A queue without a record has its register elsewhere in the page.
    auto* const page = static_cast<std::uint8_t*>(uar_->base_addr);
    void* const registers = without_ ? page + 0x600 : uar_->reg_addr;
    constexpr unsigned kFlags =
        cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory;
    ASSERT_EQ(cudaHostRegister(registers, 8, kFlags), cudaSuccess);
    void* mapped = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&mapped, registers, 0), cudaSuccess);
    queue_.doorbell = static_cast<std::uint64_t*>(mapped);
    registers_ = registers;
  }

  void make_cq() {
    using prm::Cqc;
    std::uint32_t eqn = 0;
    ASSERT_EQ(mlx5dv_devx_query_eqn(nic_.context(), 0, &eqn), 0);
    prm::Mailbox<prm::CreateCqIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::create_cq));
    const auto to = in.at(prm::CreateCqIn::cqc);
    to.set(Cqc::log_cq_size, kLogDepth);
    to.set(Cqc::uar_page, uar_->page_id);
    to.set(Cqc::c_eqn, eqn);
    to.set(Cqc::dbr_umem_valid, 1);
    to.set(Cqc::dbr_umem_id, umem_->umem_id);
    to.set(Cqc::dbr_addr, kCqRecord);
    in.set(prm::CreateCqIn::cq_umem_valid, 1);
    in.set(prm::CreateCqIn::cq_umem_id, umem_->umem_id);
    in.set(prm::CreateCqIn::cq_umem_offset, kCqes);
    prm::Mailbox<prm::CreateCqOut> out;
    cq_ = mlx5dv_devx_obj_create(nic_.context(), bytes_of(in), in.bytes().size(), bytes_of(out),
                                 out.bytes().size());
    ASSERT_NE(cq_, nullptr) << out.get(prm::MboxOut::status) << " "
                            << out.get(prm::MboxOut::syndrome);
    cqn_ = out.get(prm::CreateCqOut::cqn);
    queue_.cqes = at<format::Cqe64>(kCqes);
  }

  void make_qp() {
    using prm::Qpc;
    mlx5dv_pd pd{};
    mlx5dv_obj object{};
    object.pd = {nic_.pd(), &pd};
    ASSERT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_PD), 0);
    prm::Mailbox<prm::CreateQpIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::create_qp));
    in.set(prm::CreateQpIn::wq_umem_valid, 1);
    in.set(prm::CreateQpIn::wq_umem_id, umem_->umem_id);
    const auto to = in.at(prm::CreateQpIn::qpc);
    to.set(Qpc::pm_state, prm::kPathMigrated);
    to.set(Qpc::pd, pd.pdn);
    to.set(Qpc::uar_page, uar_->page_id);
    to.set(Qpc::rq_type, 3);  // no receive queue
    to.set(Qpc::cqn_snd, cqn_);
    to.set(Qpc::cqn_rcv, cqn_);
    to.set(Qpc::log_sq_size, kLogDepth);
    to.set(Qpc::send_dbr_mode, without_ ? 2 : 0);
    to.set(Qpc::dbr_umem_valid, 1);
    to.set(Qpc::dbr_umem_id, umem_->umem_id);
    to.set(Qpc::dbr_addr, kRecord);
    prm::Mailbox<prm::CreateQpOut> out;
    qp_ = mlx5dv_devx_obj_create(nic_.context(), bytes_of(in), in.bytes().size(), bytes_of(out),
                                 out.bytes().size());
    ASSERT_NE(qp_, nullptr) << out.get(prm::MboxOut::status) << " "
                            << out.get(prm::MboxOut::syndrome);
    queue_.qpn = static_cast<std::uint32_t>(out.get(prm::CreateQpOut::qpn));
    queue_.wqes = at<format::Wqebb>(0);
    queue_.record = without_ ? nullptr : at<format::DoorbellRecord>(kRecord);
    queue_.depth = kDepth;
  }

  prm::Mailbox<prm::Rst2initQpIn> request(prm::Opcode opcode) const {
    prm::Mailbox<prm::Rst2initQpIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    in.set(prm::Rst2initQpIn::qpn, queue_.qpn);
    in.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::pm_state, prm::kPathMigrated);
    return in;
  }

  void modify(prm::Mailbox<prm::Rst2initQpIn>& in) const {
    prm::Mailbox<prm::MboxOut> out;
    EXPECT_EQ(mlx5dv_devx_obj_modify(qp_, bytes_of(in), in.bytes().size(), bytes_of(out),
                                     out.bytes().size()),
              0)
        << out.get(prm::MboxOut::status) << " " << out.get(prm::MboxOut::syndrome);
  }

  const Nic& nic_;
  const bool without_;
  GpuBuffer memory_{kGpuPage};
  mlx5dv_devx_umem* umem_ = nullptr;
  mlx5dv_devx_uar* uar_ = nullptr;
  void* registers_ = nullptr;
  mlx5dv_devx_obj* cq_ = nullptr;
  mlx5dv_devx_obj* qp_ = nullptr;
  std::uint64_t cqn_ = 0;
  GpuQueue queue_;
};

class QueuesOfTheGpu : public testing::TestWithParam<GpuQp::Ringing> {};

INSTANTIATE_TEST_SUITE_P(, QueuesOfTheGpu,
                         testing::Values(GpuQp::Ringing::with_record,
                                         GpuQp::Ringing::without_record),
                         [](const auto& of) {
                           return of.param == GpuQp::Ringing::with_record ? "WithRecord"
                                                                          : "WithoutRecord";
                         });

TEST_P(QueuesOfTheGpu, AreDrivenByAKernel) {
  constexpr std::uint32_t kEach = 3000;
  const Nic nic;
  GpuQp qp(nic, GetParam());
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = nic.cq();
  init.qp_type = IBV_QPT_RC;
  init.cap = {1, 1, 1, 1, 0};
  ibv_qp* const peer = ibv_create_qp(nic.pd(), &init);
  connect(nic, peer, qp.number());
  qp.connect_to(peer->qp_num);

  const GpuBuffer from(kDepth * kEach), to(kDepth * kEach);
  std::vector<std::uint8_t> sent(from.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  }
  from.put(sent);
  ibv_mr* const local = ibv_reg_mr(nic.pd(), from.data(), from.size(), kAllAccess);
  ibv_mr* const remote = ibv_reg_mr(nic.pd(), to.data(), to.size(), kAllAccess);
  std::uint32_t* done = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&done), sizeof *done), cudaSuccess);
  *done = 0;
  run_writes(qp.queue(), {from.address(), to.address(), local->lkey, remote->rkey, kEach, kDepth},
             done);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*done, kDepth);
  EXPECT_EQ(to.get(0, to.size()), sent);
  EXPECT_EQ(ibv_dereg_mr(local), 0);
  EXPECT_EQ(ibv_dereg_mr(remote), 0);
  EXPECT_EQ(ibv_destroy_qp(peer), 0);
  EXPECT_EQ(cudaFreeHost(done), cudaSuccess);
}

// As the driver itself refuses it: of a NIC's registers alone the stand-in answers otherwise.
TEST(Registers, AreTheOnlyMemoryThatIsMappedAsIo) {
  const Nic nic;
  mlx5dv_devx_uar* const uar = mlx5dv_devx_alloc_uar(nic.context(), MLX5DV_UAR_ALLOC_TYPE_BF);
  ASSERT_NE(uar, nullptr);
  constexpr unsigned kFlags = cudaHostRegisterMapped | cudaHostRegisterIoMemory;
  EXPECT_EQ(cudaHostRegister(uar->reg_addr, 256, kFlags), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(uar->reg_addr), cudaSuccess);
  void* const other = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  EXPECT_NE(cudaHostRegister(other, 4096, kFlags), cudaSuccess);
  static_cast<void>(cudaGetLastError());
  ::munmap(other, 4096);
  mlx5dv_devx_free_uar(uar);
}

}  // namespace
}  // namespace gdakit::verbs_gpu

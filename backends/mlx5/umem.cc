#include "backends/mlx5/umem.h"

#include <cerrno>

#include "core/base/bits.h"
#include "core/base/file_descriptor.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint64_t kPlacesOfCqs = 64;  // on a page

// The whole pages around a piece of a GPU's memory, which a dma-buf consists of.
struct DmaBuf {
  UniqueFileDescriptor descriptor;
  std::uint64_t begin = 0;  // its first byte's address
  std::uint64_t bytes = 0;
};

Result<DmaBuf> export_pages(const OpenNic& nic, MemoryProvider& memory, const void* base,
                            std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(base);
  DmaBuf buffer;
  buffer.begin = address - address % nic.page_bytes();
  buffer.bytes = round_up(address + bytes, nic.page_bytes()) - buffer.begin;
  const Result<int> descriptor =
      memory.export_dma_buf(reinterpret_cast<void*>(buffer.begin), buffer.bytes);
  if (!descriptor) return descriptor.error();
  buffer.descriptor = UniqueFileDescriptor(*descriptor);
  return buffer;
}

constexpr const char* kOfRegions =
    ". The memory is a GPU's: a NIC takes it as dma-buf (NVIDIA's open kernel modules, Linux 5.12 "
    "or later), or by nvidia-peermem (`lsmod | grep nvidia_peermem`), and no more than the GPU's "
    "BAR1 shows (`nvidia-smi -q`)";
constexpr const char* kOfUmems =
    ". The queue is in a GPU's memory: a NIC takes it as dma-buf (NVIDIA's open kernel modules, "
    "Linux 6.1 or later), or by nvidia-peermem (`lsmod | grep nvidia_peermem`); "
    "GDAKIT_QUEUE_MEMORY=host does without either";

Error neither_way(const Error& by_dma_buf, const Error& by_address, const char* remedy) {
  return Error(by_address.code(),
               by_dma_buf.message() + "; and by its address: " + by_address.message() + remedy,
               by_address.system_code());
}

mlx5dv_devx_umem_in describe(const OpenNic& nic, void* base, std::uint64_t bytes) {
  mlx5dv_devx_umem_in in{};
  in.addr = base;
  in.size = bytes;
  in.access = IBV_ACCESS_LOCAL_WRITE;
  in.pgsz_bitmap = umem_page_sizes(nic);
  return in;
}

Result<mlx5dv_devx_umem*> umem_by_address(const OpenNic& nic, void* base, std::uint64_t bytes) {
  mlx5dv_devx_umem_in in = describe(nic, base, bytes);
  mlx5dv_devx_umem* const umem = nic.libraries().umem_reg(nic.context(), &in);
  if (umem == nullptr) return nic.no_memory("mlx5dv_devx_umem_reg_ex", bytes, errno);
  return umem;
}

Result<mlx5dv_devx_umem*> umem_by_dma_buf(const OpenNic& nic, const DmaBuf& buffer) {
  mlx5dv_devx_umem_in in =
      describe(nic, nullptr, buffer.bytes);  // from the dma-buf's first byte on
  in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
  in.dmabuf_fd = buffer.descriptor.get();
  mlx5dv_devx_umem* const umem = nic.libraries().umem_reg(nic.context(), &in);
  if (umem == nullptr) return nic.failure("mlx5dv_devx_umem_reg_ex of a dma-buf", errno);
  return umem;
}

Result<ibv_mr*> region_by_address(const OpenNic& nic, void* base, std::uint64_t bytes,
                                  unsigned access) {
  ibv_mr* const region =
      nic.libraries().reg_mr(nic.pd(), base, bytes, reinterpret_cast<std::uint64_t>(base), access);
  if (region == nullptr) return nic.no_memory("ibv_reg_mr_iova2", bytes, errno);
  return region;
}

Result<ibv_mr*> region_by_dma_buf(const OpenNic& nic, MemoryProvider& memory, void* base,
                                  std::uint64_t bytes, unsigned access) {
  const Result<DmaBuf> buffer = export_pages(nic, memory, base, bytes);
  if (!buffer) return buffer.error();
  const auto address = reinterpret_cast<std::uint64_t>(base);
  ibv_mr* const region =
      nic.libraries().reg_dmabuf_mr(nic.pd(), address - buffer->begin, bytes, address,
                                    buffer->descriptor.get(), static_cast<int>(access));
  if (region == nullptr) return nic.failure("ibv_reg_dmabuf_mr", errno);
  return region;
}

}  // namespace

Result<ibv_mr*> register_region(const OpenNic& nic, MemoryProvider& memory, void* base,
                                std::uint64_t bytes, unsigned access) {
  if (memory.kind_of(base) != MemoryKind::gpu) return region_by_address(nic, base, bytes, access);
  Result<ibv_mr*> by_dma_buf = region_by_dma_buf(nic, memory, base, bytes, access);
  if (by_dma_buf) return by_dma_buf;
  Result<ibv_mr*> by_address = region_by_address(nic, base, bytes, access);
  if (by_address) return by_address;
  return neither_way(by_dma_buf.error(), by_address.error(), kOfRegions);
}

Result<std::unique_ptr<Umem>> Umem::make(const OpenNic& nic, MemoryProvider& memory, void* base,
                                         std::uint64_t bytes) {
  const auto made = [&nic](mlx5dv_devx_umem* umem, std::uint64_t begin) {
    return std::unique_ptr<Umem>(new Umem(nic, umem, begin));
  };
  std::optional<Error> by_dma_buf;
  if (memory.kind_of(base) == MemoryKind::gpu) {
    const Result<DmaBuf> buffer = export_pages(nic, memory, base, bytes);
    const Result<mlx5dv_devx_umem*> umem =
        buffer ? umem_by_dma_buf(nic, *buffer) : Result<mlx5dv_devx_umem*>(buffer.error());
    if (umem) return made(*umem, buffer->begin);
    by_dma_buf = umem.error();
  }
  const Result<mlx5dv_devx_umem*> umem = umem_by_address(nic, base, bytes);
  if (umem) return made(*umem, reinterpret_cast<std::uint64_t>(base));
  return by_dma_buf ? neither_way(*by_dma_buf, umem.error(), kOfUmems) : umem.error();
}

Result<std::uint64_t> Umem::offset_of_cq(const void* cqes) const {
  const std::uint64_t spacing = nic_.page_bytes() / kPlacesOfCqs;
  if (reinterpret_cast<std::uint64_t>(cqes) % spacing == 0) return offset_of(cqes);
  return Error(Code::unavailable, "a completion queue on " + nic_.name() +
                                      " lies at a multiple of " + std::to_string(spacing) +
                                      " bytes where this host's pages are of " +
                                      std::to_string(nic_.page_bytes()) +
                                      ", and this one does not: lay its CQEs there (QueueLayout)");
}

int Umem::give_up() {
  const int code = nic_.libraries().umem_dereg(umem_);
  if (code == 0) umem_ = nullptr;
  return code;
}

Umem::~Umem() {
  if (umem_ != nullptr) nic_.libraries().umem_dereg(umem_);
}

}  // namespace gdakit::mlx5

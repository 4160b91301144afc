#include "backends/softnic/gpu/gpu_port.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxWorks = 4096;
// Works of this port on their way: what is queued meanwhile goes together into the next.
constexpr std::uint64_t kMaxSubmitted = 4;
// A work is closed when it has so much.
constexpr std::size_t kMaxOps = 4096;
constexpr std::size_t kMaxPromptOps = 8;
constexpr std::size_t kMaxBytes = 512 * 1024;
constexpr std::size_t kWritePiece = 256 * 1024;
constexpr std::chrono::seconds kEndLimit{5};

// Loads through GDRCopy's mapping go over PCIe one by one.
constexpr std::size_t kLongestGdrRead = 256;
constexpr std::size_t kLongestGdrWrite = 4096;

}  // namespace

std::unique_ptr<GpuPort> GpuPort::create(const GpuPortOptions& options) {
  std::unique_ptr<GpuPort> port(new GpuPort(options));
  return port->reads_.allocate(options.read_ring_bytes) ? std::move(port) : nullptr;
}

GpuPort::GpuPort(const GpuPortOptions& options)
    : options_(options), order_(*options.order), reads_(order_.device()), works_(kMaxWorks) {}

// Nothing writes to the engine's memory, and no peer's memory is read, once the port is gone.
GpuPort::~GpuPort() {
  const auto limit = std::chrono::steady_clock::now() + kEndLimit;
  const DmaOp last = fence();
  while (last.id != 0 && !done(last) && std::chrono::steady_clock::now() < limit) {
    submit();
    poll();
    std::this_thread::yield();
  }
}

void GpuPort::attach(DmaAddress base, std::uint64_t bytes) {
  if (options_.gdr != nullptr && is_gpu(base)) options_.gdr->attach(plain_address(base), bytes);
}

void GpuPort::detach(DmaAddress base, std::uint64_t bytes) {
  if (options_.gdr != nullptr && is_gpu(base)) options_.gdr->detach(plain_address(base), bytes);
}

DmaAddress GpuPort::on_host(const std::byte* memory) {
  return {reinterpret_cast<std::uintptr_t>(memory)};
}

std::byte* GpuPort::within_reach(DmaAddress address, std::size_t size, std::size_t longest) const {
  const std::uint64_t plain = plain_address(address);
  if (!is_gpu(address)) return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(plain));
  return options_.gdr != nullptr && size <= longest ? options_.gdr->find(plain, size) : nullptr;
}

GpuWork& GpuPort::filling() {
  if (!filling_is_empty()) {
    GpuWork& last = *works_[works_.tail() - 1];
    const std::size_t most = last.prompt ? kMaxPromptOps : kMaxOps;
    if (last.ops.size() < most && last.bytes.size() < kMaxBytes) return last;
  }
  if (idle_.empty()) {
    owned_.push_back(std::make_unique<GpuWork>());
    idle_.push_back(owned_.back().get());
  }
  GpuWork* const work = idle_.back();
  idle_.pop_back();
  work->clear();
  work->owner = this;
  // It goes with the next submit(), as nothing of this port is on its way.
  work->prompt = early() && works_.empty() && order_.quiet();
  works_.push() = work;
  return *work;
}

// The operation that was queued last.
DmaOp GpuPort::queued() {
  const std::uint64_t number = works_.tail() - 1;
  return works_[number]->prompt ? DmaOp{} : op(Kind::work, number);
}

DmaOp GpuPort::read(void* to, DmaAddress from, std::size_t size) {
  if (size == 0) return {};
  if (const std::byte* const memory = within_reach(from, size, kLongestGdrRead)) {
    return host_.read(to, on_host(memory), size);
  }
  return op(Kind::read, reads_.read(to, plain_address(from), size));
}

DmaOp GpuPort::write(DmaAddress to, const void* from, std::size_t size) {
  return write_range(to, from, size, /*ends=*/false);
}

DmaOp GpuPort::write_last(DmaAddress to, const void* from, std::size_t size) {
  return write_range(to, from, size, /*ends=*/true);
}

DmaOp GpuPort::copy(DmaAddress to, DmaAddress from, std::size_t size) {
  return copy_range(to, from, size, /*ends=*/false);
}

DmaOp GpuPort::copy_last(DmaAddress to, DmaAddress from, std::size_t size) {
  return copy_range(to, from, size, /*ends=*/true);
}

// Through GDRCopy's mapping. Write combining keeps no order by itself.
void GpuPort::write_mapped(std::byte* memory, const void* from, std::size_t size,
                           std::size_t tail) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  const std::size_t head = size - tail;
  host_.write(on_host(memory), bytes, head);
  GdrCopy::flush();
  if (tail == 0) return;
  host_.write(on_host(memory + head), bytes + head, tail);
  GdrCopy::flush();
}

// The host itself writes, if nothing that comes before is still on its way to the GPU.
DmaOp GpuPort::write_range(DmaAddress to, const void* from, std::size_t size, bool ends) {
  if (size == 0) return {};
  std::byte* const memory = at_once() ? within_reach(to, size, kLongestGdrWrite) : nullptr;
  if (memory != nullptr) {
    if (!is_gpu(to)) return host_.write(on_host(memory), from, size);
    write_mapped(memory, from, size, ends ? last_word(to, size) : 0);
    return {};
  }
  if (is_word(to, size)) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, size);
    filling().add_word(chain_, to, value, size);
    return queued();
  }
  const auto* at = static_cast<const std::byte*>(from);
  for (std::size_t begin = 0; begin < size; begin += kWritePiece) {
    const std::size_t piece = std::min(kWritePiece, size - begin);
    const bool last = ends && begin + piece == size;
    filling().add_bytes(chain_, to + begin, at + begin, piece,
                        last ? last_word(to + begin, piece) : 0);
  }
  return queued();
}

DmaOp GpuPort::copy_range(DmaAddress to, DmaAddress from, std::size_t size, bool ends) {
  if (size == 0) return {};
  if (at_once() && !is_gpu(to) && !is_gpu(from)) {
    return host_.copy({plain_address(to)}, {plain_address(from)}, size);
  }
  const bool across =
      options_.other_gpus && is_gpu(to) && is_gpu(from) &&
      !(order_.device().owns(plain_address(to)) && order_.device().owns(plain_address(from)));
  filling().add_copy(chain_, to, from, size, across, ends ? last_word(to, size) : 0);
  return queued();
}

DmaOp GpuPort::atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) {
  if (at_once() && !is_gpu(at)) return host_.atomic({plain_address(at)}, request, old);
  filling().add_atomic(chain_, at, request, old);
  return op(Kind::whole_work, works_.tail() - 1);
}

DmaOp GpuPort::write_cqe(DmaAddress to, const format::Cqe64& cqe) {
  std::byte* const memory = at_once() ? within_reach(to, sizeof cqe, kLongestGdrWrite) : nullptr;
  if (memory == nullptr) {
    filling().add_cqe(chain_, to, cqe);
    return queued();
  }
  if (!is_gpu(to)) return host_.write_cqe(on_host(memory), cqe);
  write_mapped(memory, &cqe, sizeof cqe, sizeof cqe - format::kCqeTailOffset);
  return {};
}

DmaOp GpuPort::fence() {
  if (reads_.finished(reads_.last()) && works_.empty() && order_.quiet()) return {};
  fences_.push_back({reads_.last(), works_.tail(), order_.submitted()});
  return op(Kind::fence, ++fences_made_);
}

DmaOp GpuPort::read_fence() {
  if (reads_.finished(reads_.last())) return {};
  return op(Kind::read, reads_.last());
}

bool GpuPort::fence_passed(const Fence& fence) const {
  return reads_.finished(fence.reads) && works_.head() >= fence.works &&
         order_.finished(fence.order);
}

bool GpuPort::done(DmaOp op) {
  const std::uint64_t number = op.id >> 2;
  switch (static_cast<Kind>(op.id & 3)) {
    case Kind::read: return reads_.finished(number);
    case Kind::whole_work: return works_.head() > number;
    case Kind::fence: return fences_passed_ >= number;
    case Kind::work: break;
  }
  if (works_.head() > number) return true;
  const GpuWork::State state = works_[number]->state.load(std::memory_order_acquire);
  return state == GpuWork::State::finished || (early() && state == GpuWork::State::launched);
}

void GpuPort::submit() {
  reads_.submit();
  while (submitted_ != works_.tail() && submitted_ - works_.head() < kMaxSubmitted) {
    order_.submit(*works_[submitted_++]);
  }
  if (!works_.empty() && !early()) order_.hurry();
}

void GpuPort::poll() {
  if (!fences_.empty()) order_.hurry();
  order_.advance();
  reads_.poll();
  while (works_.head() != submitted_) {
    GpuWork* const work = works_.front();
    if (work->state.load(std::memory_order_acquire) != GpuWork::State::finished) break;
    for (const WorkAtomic& atomic : work->atomics) *atomic.old = atomic.result;
    idle_.push_back(work);
    works_.pop();
  }
  while (!fences_.empty() && fence_passed(fences_.front())) {
    fences_.pop_front();
    ++fences_passed_;
  }
}

}  // namespace gdakit::softnic

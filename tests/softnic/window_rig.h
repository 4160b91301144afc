// A rig whose side b has a memory window that a uses.
//
//   WindowRig rig(WindowType::type_2);
//   rig.do_bind();   // to a part of b's heap
//   rig.write();     // by a, with the window's key
#pragma once

#include <optional>
#include <stdexcept>

#include "tests/softnic/umr_wqes.h"

namespace gdakit::softnic::test {

inline constexpr std::size_t kWindowAt = 4096;  // where windows begin in b's heap
inline constexpr std::uint64_t kWindowLength = 256;

inline RigOptions with_bindable_memory(RigOptions options = {}) {
  options.mr_access = Access::all | Access::bind;
  return options;
}

// b has a window, and a uses it.
struct WindowRig : EngineRig {
  explicit WindowRig(WindowType window_type = WindowType::type_1, const RigOptions& options = {})
      : EngineRig(with_bindable_memory(options)), type(window_type) {
    window = *b.engine.alloc_mw(b.pd, type);
    key = window;
  }

  Bind bind_of(std::uint8_t variant) const {
    Bind bind;
    bind.window = window;
    bind.region = b.key;
    bind.start = b.heap_address(kWindowAt);
    bind.length = kWindowLength;
    bind.variant = variant;
    if (type == WindowType::type_2) bind.type_2_of = b.qpn;
    return bind;
  }
  // The syndrome of what b has posted.
  format::Syndrome run_b() {
    b.ring();
    EXPECT_TRUE(run());
    const auto cqe = b.send_cq.poll();
    if (!cqe) throw std::runtime_error("b has no CQE");
    return opcode_of(*cqe) == format::CqeOpcode::requester ? format::Syndrome::none
                                                           : syndrome_of(*cqe);
  }
  format::Syndrome do_bind(const Bind& bind) {
    b.post(bind_wqe(bind));
    const format::Syndrome syndrome = run_b();
    if (syndrome == format::Syndrome::none) key = (window & ~0xffu) | bind.variant;
    return syndrome;
  }
  format::Syndrome do_bind(std::uint8_t variant = 7) { return do_bind(bind_of(variant)); }
  format::Syndrome do_umr(const Umr& umr) {
    b.post(umr_wqe(window, umr));
    return run_b();
  }
  // ... of a WQE of a whose remote address is that of the window.
  format::Syndrome run_a(Wqe wqe, std::uint64_t offset = 0, std::optional<MemoryKey> other = {}) {
    wqe.body[0] =
        format::to_segment(format::remote_address(start() + offset, Be32{other.value_or(key)}));
    return run_a_as_it_is(wqe);
  }
  format::Syndrome run_a_as_it_is(const Wqe& wqe) {
    const auto heard = post_a(wqe);
    if (!heard) throw std::runtime_error("a has no CQE");
    return *heard;
  }
  format::Syndrome write(std::uint64_t offset = 0, std::uint32_t size = 8,
                         std::optional<MemoryKey> other = {}) {
    return run_a(write_wqe(*this, 0, 0, size), offset, other);
  }
  format::Syndrome read(std::uint64_t offset = 0, std::uint32_t size = 8) {
    return run_a(read_wqe(*this, 0, 0, size), offset);
  }
  // Nothing where a has heard nothing of it.
  std::optional<format::Syndrome> send_with_invalidate(MemoryKey of) {
    b.post_receive({format::data(b.heap_address(0), Be32{b.key}, 64)});
    return post_a({.opcode = format::Opcode::send_inval, .imm = of, .body = {a.data(0, 8)}});
  }
  std::uint64_t start() const { return start_; }
  void set_start(std::uint64_t start) { start_ = start; }

  const WindowType type;
  MemoryKey window = 0;  // as it was allocated
  MemoryKey key = 0;     // as it was bound last

 private:
  std::optional<format::Syndrome> post_a(const Wqe& wqe) {
    a.post(wqe);
    a.ring();
    EXPECT_TRUE(run());
    const auto cqe = a.send_cq.poll();
    if (!cqe) return std::nullopt;
    return opcode_of(*cqe) == format::CqeOpcode::requester ? format::Syndrome::none
                                                           : syndrome_of(*cqe);
  }

  std::uint64_t start_ = b.heap_address(kWindowAt);
};

}  // namespace gdakit::softnic::test

// CudaMachine: the GPU as a Machine. The only inline PTX of the project.
//
//   __global__ void kernel(DeviceContext context) {
//     CudaMachine m(context);
//     Pe<CudaMachine> pe(m, context);
//   }
//
// Each access is one PTX instruction, on global memory (of a GPU, or pinned), whose qualifiers come
// from its order's kind and scope:
//
//   load, store     ld / st .relaxed .acquire .release  .cta .gpu .sys   of 1, 2, 4 or 8 bytes
//   fetch_*, ...    atom, of 4 or 8 bytes
//   fence           fence.release, fence.acquire, fence.acq_rel, fence.sc
//   store_weak      st.weak, for a WQE segment of 16 bytes at once
//   store_mmio      st.mmio.relaxed.sys
//
// Scope::nic is known at run time only. A fence chooses, since at system scope it may cost twice as
// much; accesses are made at system scope, which costs them nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/annotate.h"
#include "core/base/bits.h"
#include "core/base/type_identity.h"
#include "device/machine.h"
#include "device/order.h"
#include "device/views.h"

namespace gdakit {

namespace ptx {

// Ends the kernel by a fault, after which the process's calls of CUDA fail.
__device__ inline void trap() { asm volatile("trap;"); }

// The qualifiers of an instruction, as text.

template <Kind>
struct Sem;
template <>
struct Sem<Kind::relaxed> {
  static constexpr char text[] = ".relaxed";
};
template <>
struct Sem<Kind::acquire> {
  static constexpr char text[] = ".acquire";
};
template <>
struct Sem<Kind::release> {
  static constexpr char text[] = ".release";
};
template <>
struct Sem<Kind::acq_rel> {
  static constexpr char text[] = ".acq_rel";
};
template <>
struct Sem<Kind::sc> {
  static constexpr char text[] = ".sc";
};

template <Scope>
struct In {
  static constexpr char text[] = ".sys";
};
template <>
struct In<Scope::block> {
  static constexpr char text[] = ".cta";
};
template <>
struct In<Scope::gpu> {
  static constexpr char text[] = ".gpu";
};

// Read-modify-writes, up to the size of the type.
struct Add {
  static constexpr char text[] = ".add.u";
};
struct Or {
  static constexpr char text[] = ".or.b";
};
struct And {
  static constexpr char text[] = ".and.b";
};
struct Xor {
  static constexpr char text[] = ".xor.b";
};
struct Exchange {
  static constexpr char text[] = ".exch.b";
};
struct MaxSigned {
  static constexpr char text[] = ".max.s";
};
struct MaxUnsigned {
  static constexpr char text[] = ".max.u";
};

// An unsigned integer of `bytes` bytes, and its size in bits.
template <std::size_t bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
  static constexpr char bits[] = "32";
};
template <>
struct WordOf<8> {
  using Type = std::uint64_t;
  static constexpr char bits[] = "64";
};
template <class T>
using Word = typename WordOf<sizeof(T)>::Type;

}  // namespace ptx

// With -rdc=true, functions of external linkage are compiled for any caller there might be, with
// more registers than large blocks leave. Those that are made of this class shall not be.
#if GDAKIT_RELOCATABLE
namespace {
#endif

class CudaMachine {
 public:
  __device__ explicit CudaMachine(const DeviceContext& context) : CudaMachine(context.nic_scope) {}
  // `nic`: what Scope::nic means, gpu or system.
  __device__ explicit CudaMachine(Scope nic) : nic_is_gpu_(nic == Scope::gpu) {}

  // Blocks and grids of several dimensions are counted as CUDA does: x first, so that the lanes are
  // those of the hardware's warps.
  __device__ std::uint32_t thread_index() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  __device__ std::uint32_t block_index() const {
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  __device__ std::uint32_t block_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ std::uint32_t grid_blocks() const { return gridDim.x * gridDim.y * gridDim.z; }
  __device__ std::uint32_t lane() const { return thread_index() % kWarpSize; }
  __device__ std::uint32_t warp() const { return thread_index() / kWarpSize; }

  template <class Order, class T>
  __device__ T load(Order, const T* from) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::acquire);
    if constexpr (sizeof(T) == 8) {
      std::uint64_t value;
      asm volatile("ld%2%3.global.b64 %0, [%1];"
                   : "=l"(value)
                   : "l"(__cvta_generic_to_global(from)), "C"(Sem<Order>::text),
                     "C"(In<Order>::text)
                   : "memory");
      return bit_cast<T>(value);
    } else if constexpr (sizeof(T) == 4) {
      std::uint32_t value;
      asm volatile("ld%2%3.global.b32 %0, [%1];"
                   : "=r"(value)
                   : "l"(__cvta_generic_to_global(from)), "C"(Sem<Order>::text),
                     "C"(In<Order>::text)
                   : "memory");
      return bit_cast<T>(value);
    } else {
      return load_narrow<Order>(from);
    }
  }

  template <class Order, class T>
  __device__ void store(Order, T* to, type_identity_t<T> value) {
    static_assert(Order::kind == Kind::relaxed || Order::kind == Kind::release);
    if constexpr (sizeof(T) == 8) {
      asm volatile("st%2%3.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                   "l"(bit_cast<std::uint64_t>(value)), "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    } else if constexpr (sizeof(T) == 4) {
      asm volatile("st%2%3.global.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                   "r"(bit_cast<std::uint32_t>(value)), "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    } else if constexpr (sizeof(T) == 2) {
      asm volatile("st%2%3.global.b16 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                   "h"(bit_cast<std::uint16_t>(value)), "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    } else {
      const std::uint16_t wide = bit_cast<std::uint8_t>(value);
      asm volatile("st%2%3.global.b8 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "h"(wide),
                   "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    }
  }

  template <class Order, class T>
  __device__ T fetch_add(Order, T* word, type_identity_t<T> value) {
    return atom<Order, ptx::Add>(word, value);
  }
  template <class Order, class T>
  __device__ T fetch_or(Order, T* word, type_identity_t<T> value) {
    return atom<Order, ptx::Or>(word, value);
  }
  template <class Order, class T>
  __device__ T fetch_and(Order, T* word, type_identity_t<T> value) {
    return atom<Order, ptx::And>(word, value);
  }
  template <class Order, class T>
  __device__ T fetch_xor(Order, T* word, type_identity_t<T> value) {
    return atom<Order, ptx::Xor>(word, value);
  }
  template <class Order, class T>
  __device__ T fetch_max(Order, T* word, type_identity_t<T> value) {
    using Op = std::conditional_t<std::is_signed_v<T>, ptx::MaxSigned, ptx::MaxUnsigned>;
    return atom<Order, Op>(word, value);
  }
  template <class Order, class T>
  __device__ T exchange(Order, T* word, type_identity_t<T> value) {
    return atom<Order, ptx::Exchange>(word, value);
  }

  // Returns the old value; the exchange took place if its bytes equal those of `expected`.
  template <class Order, class T>
  __device__ T compare_exchange(Order, T* word, type_identity_t<T> expected,
                                type_identity_t<T> desired) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using W = ptx::Word<T>;
    W old;
    if constexpr (sizeof(T) == 8) {
      asm volatile("atom%4%5.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(old)
                   : "l"(__cvta_generic_to_global(word)), "l"(bit_cast<W>(expected)),
                     "l"(bit_cast<W>(desired)), "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    } else {
      asm volatile("atom%4%5.global.cas.b32 %0, [%1], %2, %3;"
                   : "=r"(old)
                   : "l"(__cvta_generic_to_global(word)), "r"(bit_cast<W>(expected)),
                     "r"(bit_cast<W>(desired)), "C"(Sem<Order>::text), "C"(In<Order>::text)
                   : "memory");
    }
    return bit_cast<T>(old);
  }

  template <class Order>
  __device__ void fence(Order) {
    if constexpr (Order::scope == Scope::nic) {
      if (nic_is_gpu_) {
        fence_in<Order::kind, Scope::gpu>();
      } else {
        fence_in<Order::kind, Scope::system>();
      }
    } else {
      fence_in<Order::kind, Order::scope>();
    }
  }

  // 16 bytes at once. Nobody on this GPU reads a WQE, so no other access needs to keep its place
  // beside this one: fences alone order it.
  __device__ void store_weak(format::Segment* to, const format::Segment& segment) {
    struct Halves {
      std::uint64_t low, high;
    };
    const Halves halves = bit_cast<Halves>(segment);
    asm volatile("st.weak.global.v2.b64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                 "l"(halves.low), "l"(halves.high));
  }
  template <class T>
  __device__ void store_weak(T* to, type_identity_t<T> value) {
    *to = value;
  }
  template <class T>
  __device__ T load_weak(const T* from) {
    return *from;
  }

  __device__ void store_mmio(std::uint64_t* to, std::uint64_t value) {
    if constexpr (GDAKIT_CUDA_ARCH >= 700) {
      asm volatile("st.mmio.relaxed.sys.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                   "l"(value)
                   : "memory");
    } else {
      asm volatile("st.volatile.global.b64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                   "l"(value)
                   : "memory");
    }
  }

  // By this thread alone, in the widest pieces that both addresses allow. What their type says of
  // them is not asked of the addresses.
  template <class T>
  __device__ void copy(T* to, const T* from, std::size_t bytes) {
    copy_pieces<alignment_of<T>()>(to, from, bytes, [](const auto* piece) { return *piece; });
  }
  template <class T>
  __device__ void copy_in(T* to, const T* from, std::size_t bytes) {
    copy_pieces<alignment_of<T>()>(to, from, bytes,
                                   [this](const auto* piece) { return load_fresh(piece); });
  }

  __device__ LaneMask active_mask() { return __activemask(); }

  template <class T>
  __device__ T shuffle(LaneMask mask, T value, std::uint32_t source) {
    if constexpr (sizeof(T) == 8) {
      const auto raw = bit_cast<unsigned long long>(value);
      return bit_cast<T>(__shfl_sync(mask, raw, static_cast<int>(source)));
    } else {
      const std::uint32_t raw = bit_cast<ptx::Word<T>>(value);
      const std::uint32_t given = __shfl_sync(mask, raw, static_cast<int>(source));
      return bit_cast<T>(static_cast<ptx::Word<T>>(given));
    }
  }
  __device__ LaneMask ballot(LaneMask mask, bool predicate) {
    return __ballot_sync(mask, predicate);
  }
  // Values are compared by their bytes.
  template <class T>
  __device__ LaneMask match_any(LaneMask mask, T value) {
    if constexpr (sizeof(T) == 8) {
      return __match_any_sync(mask, bit_cast<unsigned long long>(value));
    } else {
      return __match_any_sync(mask, std::uint32_t{bit_cast<ptx::Word<T>>(value)});
    }
  }
  __device__ void sync_warp(LaneMask mask) { __syncwarp(mask); }
  __device__ void sync_block() { __syncthreads(); }
  __device__ std::uint64_t broadcast_block(std::uint64_t value) {
    __shared__ std::uint64_t shared;
    if (thread_index() == 0) shared = value;
    __syncthreads();
    const std::uint64_t given = shared;
    __syncthreads();  // before the next broadcast
    return given;
  }
  __device__ bool any_block(bool predicate) { return __syncthreads_or(predicate ? 1 : 0) != 0; }

  __device__ std::uint64_t clock_ns() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
  }
  // A nap of some tens of nanoseconds: pollers that never pause slow down those whom they wait for.
  // Not so who waits for a word that another PE writes into this one's memory: that is looked at
  // as often as can be, because its latency is what such programs are made of.
  __device__ void spin(Site site) {
    if (site != Site::signal && site != Site::team) __nanosleep(kNapNs);
  }

 private:
  static constexpr unsigned kNapNs = 20;

  template <class Order>
  using Sem = ptx::Sem<Order::kind>;
  template <class Order>
  using In = ptx::In<Order::scope>;

  template <class Order, class T>
  __device__ static T load_narrow(const T* from) {
    std::uint16_t value;
    if constexpr (sizeof(T) == 2) {
      asm volatile("ld%2%3.global.b16 %0, [%1];"
                   : "=h"(value)
                   : "l"(__cvta_generic_to_global(from)), "C"(Sem<Order>::text),
                     "C"(In<Order>::text)
                   : "memory");
    } else {
      asm volatile("ld%2%3.global.b8 %0, [%1];"
                   : "=h"(value)
                   : "l"(__cvta_generic_to_global(from)), "C"(Sem<Order>::text),
                     "C"(In<Order>::text)
                   : "memory");
    }
    return bit_cast<T>(static_cast<ptx::Word<T>>(value));
  }

  template <class Order, class Op, class T>
  __device__ static T atom(T* word, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using W = ptx::Word<T>;
    W old;
    if constexpr (sizeof(T) == 8) {
      asm volatile("atom%3%4.global%5%6 %0, [%1], %2;"
                   : "=l"(old)
                   : "l"(__cvta_generic_to_global(word)), "l"(bit_cast<W>(value)),
                     "C"(Sem<Order>::text), "C"(In<Order>::text), "C"(Op::text),
                     "C"(ptx::WordOf<sizeof(T)>::bits)
                   : "memory");
    } else {
      asm volatile("atom%3%4.global%5%6 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(__cvta_generic_to_global(word)), "r"(bit_cast<W>(value)),
                     "C"(Sem<Order>::text), "C"(In<Order>::text), "C"(Op::text),
                     "C"(ptx::WordOf<sizeof(T)>::bits)
                   : "memory");
    }
    return bit_cast<T>(old);
  }

  // Before sm_90 a fence of one direction is one of both.
  template <Kind kKind, Scope kScope>
  __device__ static void fence_in() {
    static_assert(kKind != Kind::relaxed);
    constexpr bool one_way = kKind == Kind::acquire || kKind == Kind::release;
    constexpr Kind kind = one_way && GDAKIT_CUDA_ARCH < 900 ? Kind::acq_rel : kKind;
    asm volatile("fence%0%1;" ::"C"(ptx::Sem<kind>::text), "C"(ptx::In<kScope>::text) : "memory");
  }

  template <class T>
  __device__ static constexpr std::size_t alignment_of() {
    if constexpr (std::is_void_v<T>) {
      return 1;
    } else {
      return alignof(T);
    }
  }

  template <std::size_t kAligned, class Load>
  __device__ static void copy_pieces(void* to, const void* from, std::size_t bytes, Load&& load) {
    const auto ends = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    const auto fits = [=](std::size_t size) { return kAligned >= size || ends % size == 0; };
    std::size_t done = 0;
    if (fits(16)) done = copy_as<ulonglong2>(to, from, done, bytes, load);
    if (fits(8)) done = copy_as<std::uint64_t>(to, from, done, bytes, load);
    if (fits(4)) done = copy_as<std::uint32_t>(to, from, done, bytes, load);
    if (fits(2)) done = copy_as<std::uint16_t>(to, from, done, bytes, load);
    copy_as<std::uint8_t>(to, from, done, bytes, load);
  }
  // Copies whole pieces of type Piece from byte `done` on; returns how far it came.
  template <class Piece, class Load>
  __device__ static std::size_t copy_as(void* to, const void* from, std::size_t done,
                                        std::size_t bytes, Load& load) {
    for (; done + sizeof(Piece) <= bytes; done += sizeof(Piece)) {
      *reinterpret_cast<Piece*>(static_cast<char*>(to) + done) =
          load(reinterpret_cast<const Piece*>(static_cast<const char*>(from) + done));
    }
    return done;
  }

  // From memory, whatever this GPU's caches hold.
  template <class T>
  __device__ T load_fresh(const T* from) {
    return load(order::RelaxedSystem{}, from);
  }
  __device__ ulonglong2 load_fresh(const ulonglong2* from) {
    ulonglong2 value;
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                 : "=l"(value.x), "=l"(value.y)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
    return value;
  }

  bool nic_is_gpu_;
};

#if GDAKIT_RELOCATABLE
}  // namespace
#endif

}  // namespace gdakit

// Mailboxes of receive memory pools: receive queues that queue pairs share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

enum class WqType : std::uint8_t { list = 0, cyclic = 1, list_striding = 2, cyclic_striding = 3 };

// In the last byte of ModifyRmpIn::bitmask: the context's wq.lwm is new.
inline constexpr std::uint8_t kRmpBitmaskLwm = 1;

enum class RmpState : std::uint8_t { ready = 1, error = 3 };

// Without the addresses of pages that follow it.
struct Wq {
  static constexpr std::size_t kBytes = 192;
  static constexpr Field<Wq, 0, 4> wq_type{};  // WqType
  static constexpr Field<Wq, 4, 1> wq_signature{};
  static constexpr Field<Wq, 43, 5> page_offset{};
  static constexpr Field<Wq, 48, 16> lwm{};  // low-water mark: an event is told below it, once
  static constexpr Field<Wq, 72, 24> pd{};
  static constexpr Field<Wq, 128, 64> dbr_addr{};
  static constexpr Field<Wq, 192, 32> hw_counter{};
  static constexpr Field<Wq, 224, 32> sw_counter{};
  static constexpr Field<Wq, 268, 4> log_wq_stride{};
  static constexpr Field<Wq, 275, 5> log_wq_pg_sz{};
  static constexpr Field<Wq, 283, 5> log_wq_sz{};
  static constexpr Field<Wq, 288, 1> dbr_umem_valid{};
  static constexpr Field<Wq, 289, 1> wq_umem_valid{};
  static constexpr Field<Wq, 320, 32> dbr_umem_id{};
  static constexpr Field<Wq, 352, 32> wq_umem_id{};
  static constexpr Field<Wq, 384, 64> wq_umem_offset{};
};

struct Rmpc {
  static constexpr std::size_t kBytes = 240;
  static constexpr Field<Rmpc, 8, 4> state{};  // RmpState
  static constexpr Field<Rmpc, 32, 1> basic_cyclic_rcv_wqe{};
  static constexpr Part<Rmpc, Wq, 384> wq{};
};

struct CreateRmpIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<CreateRmpIn, Rmpc, 256> rmp_context{};
};

struct CreateRmpOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateRmpOut, 72, 24> rmpn{};
};

struct DestroyRmpIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyRmpIn, 72, 24> rmpn{};
};

using QueryRmpIn = DestroyRmpIn;

struct QueryRmpOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QueryRmpOut, Rmpc, 256> rmp_context{};
};

struct ModifyRmpIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<ModifyRmpIn, 64, 4> rmp_state{};
  static constexpr Field<ModifyRmpIn, 72, 24> rmpn{};
  static constexpr Octets<ModifyRmpIn, 128, 8> bitmask{};
  static constexpr Part<ModifyRmpIn, Rmpc, 256> ctx{};
};

}  // namespace gdakit::format::prm

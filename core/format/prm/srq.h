// Mailboxes of shared receive queues: those of XRC, and those of drivers that know no pools
// (rmp.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

// XrcSrqc::state.
enum class SrqState : std::uint8_t { good = 0, error = 1 };

// The op_mod of ARM_RQ and ARM_XRC_SRQ for these.
inline constexpr std::uint64_t kArmSrq = 1;

// Srqc has the same fields at the same places, but for those of XRC alone and of umems.
struct XrcSrqc {
  static constexpr std::size_t kBytes = 64;
  static constexpr Field<XrcSrqc, 0, 4> state{};  // SrqState
  static constexpr Field<XrcSrqc, 4, 4> log_xrc_srq_size{};
  static constexpr Field<XrcSrqc, 32, 1> wq_signature{};
  static constexpr Field<XrcSrqc, 36, 1> basic_cyclic_rcv_wqe{};
  static constexpr Field<XrcSrqc, 37, 3> log_rq_stride{};  // log2 of bytes, less 4
  static constexpr Field<XrcSrqc, 40, 24> xrcd{};
  static constexpr Field<XrcSrqc, 64, 6> page_offset{};
  static constexpr Field<XrcSrqc, 71, 1> dbr_umem_valid{};
  static constexpr Field<XrcSrqc, 72, 24> cqn{};
  static constexpr Field<XrcSrqc, 128, 1> user_index_equal_xrc_srqn{};
  static constexpr Field<XrcSrqc, 136, 24> user_index{};
  static constexpr Field<XrcSrqc, 200, 24> pd{};
  static constexpr Field<XrcSrqc, 224, 16>
      lwm{};  // low-water mark: an event is told below it, once
  static constexpr Field<XrcSrqc, 240, 16> wqe_cnt{};  // posted and not taken
  // The record's address is a multiple of 4.
  static constexpr Field<XrcSrqc, 320, 32> db_record_addr_h{};
  static constexpr Field<XrcSrqc, 352, 30> db_record_addr_l{};
};

struct Srqc {
  static constexpr std::size_t kBytes = 64;
  static constexpr Field<Srqc, 0, 4> state{};
  static constexpr Field<Srqc, 4, 4> log_srq_size{};
  static constexpr Field<Srqc, 37, 3> log_rq_stride{};
  static constexpr Field<Srqc, 200, 24> pd{};
  static constexpr Field<Srqc, 224, 16> lwm{};
  static constexpr Field<Srqc, 240, 16> wqe_cnt{};
  static constexpr Field<Srqc, 320, 64> dbr_addr{};
};

struct CreateSrqIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<CreateSrqIn, Srqc, 128> srq_context_entry{};
};

struct CreateSrqOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateSrqOut, 72, 24> srqn{};
};

struct DestroySrqIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroySrqIn, 72, 24> srqn{};
};

using QuerySrqIn = DestroySrqIn;

struct QuerySrqOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QuerySrqOut, Srqc, 128> srq_context_entry{};
};

struct ArmRqIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<ArmRqIn, 72, 24> srq_number{};
  static constexpr Field<ArmRqIn, 112, 16> lwm{};
};

struct CreateXrcSrqIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<CreateXrcSrqIn, XrcSrqc, 128> xrc_srq_context_entry{};
  static constexpr Field<CreateXrcSrqIn, 736, 1> xrc_srq_umem_valid{};
};

struct CreateXrcSrqOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateXrcSrqOut, 72, 24> xrc_srqn{};
};

struct DestroyXrcSrqIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyXrcSrqIn, 72, 24> xrc_srqn{};
};

using QueryXrcSrqIn = DestroyXrcSrqIn;

struct QueryXrcSrqOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QueryXrcSrqOut, XrcSrqc, 128> xrc_srq_context_entry{};
};

struct ArmXrcSrqIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<ArmXrcSrqIn, 72, 24> xrc_srqn{};
  static constexpr Field<ArmXrcSrqIn, 112, 16> lwm{};
};

}  // namespace gdakit::format::prm

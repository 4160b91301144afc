// Mailboxes of targets of DC.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

struct Dctc {
  static constexpr std::size_t kBytes = 64;
  static constexpr Field<Dctc, 4, 4> state{};  // 0 active, 1 draining, 2 drained
  static constexpr Field<Dctc, 24, 4> offload_type{};
  static constexpr Field<Dctc, 40, 24> user_index{};
  static constexpr Field<Dctc, 72, 24> cqn{};
  static constexpr Field<Dctc, 96, 8> counter_set_id{};
  static constexpr Field<Dctc, 104, 4> atomic_mode{};
  static constexpr Field<Dctc, 108, 1> rre{};
  static constexpr Field<Dctc, 109, 1> rwe{};
  static constexpr Field<Dctc, 110, 1> rae{};
  static constexpr Field<Dctc, 136, 8> cs_res{};
  static constexpr Field<Dctc, 147, 5> min_rnr_nak{};
  static constexpr Field<Dctc, 168, 24> srqn_xrqn{};
  static constexpr Field<Dctc, 200, 24> pd{};
  static constexpr Field<Dctc, 224, 8> tclass{};
  static constexpr Field<Dctc, 236, 20> flow_label{};
  static constexpr Field<Dctc, 256, 64> dc_access_key{};
  static constexpr Field<Dctc, 325, 3> mtu{};
  static constexpr Field<Dctc, 328, 8> port{};
  static constexpr Field<Dctc, 336, 16> pkey_index{};
  static constexpr Field<Dctc, 360, 8> my_addr_index{};
  static constexpr Field<Dctc, 376, 8> hop_limit{};
  static constexpr Field<Dctc, 384, 32> dc_access_key_violation_count{};
  static constexpr Field<Dctc, 437, 3> eth_prio{};
  static constexpr Field<Dctc, 442, 6> dscp{};
};

struct CreateDctIn : MboxIn {
  static constexpr std::size_t kBytes = 128;
  static constexpr Part<CreateDctIn, Dctc, 128> dct_context_entry{};
};

struct CreateDctOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateDctOut, 72, 24> dctn{};
};

struct DestroyDctIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyDctIn, 72, 24> dctn{};
};

struct DrainDctIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DrainDctIn, 72, 24> dctn{};
};

struct QueryDctIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryDctIn, 72, 24> dctn{};
};

struct QueryDctOut : MboxOut {
  static constexpr std::size_t kBytes = 128;
  static constexpr Part<QueryDctOut, Dctc, 128> dct_context_entry{};
};

// ARM_DCT_FOR_KEY_VIOLATION.
struct ArmDctIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<ArmDctIn, 72, 24> dct_number{};
};

}  // namespace gdakit::format::prm

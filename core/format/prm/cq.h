// Mailboxes of completion queues.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

struct Cqc {
  static constexpr std::size_t kBytes = 64;
  static constexpr Field<Cqc, 0, 4> status{};
  static constexpr Field<Cqc, 6, 1> dbr_umem_valid{};
  static constexpr Field<Cqc, 8, 3> cqe_sz{};  // CqeSize
  static constexpr Field<Cqc, 11, 1> cc{};     // collapsed: all entries go to the first one
  static constexpr Field<Cqc, 14, 1> oi{};     // overrun is ignored
  static constexpr Field<Cqc, 15, 2> cq_period_mode{};
  static constexpr Field<Cqc, 20, 4> st{};
  static constexpr Field<Cqc, 32, 32> dbr_umem_id{};
  static constexpr Field<Cqc, 84, 6> page_offset{};
  static constexpr Field<Cqc, 99, 5> log_cq_size{};
  static constexpr Field<Cqc, 104, 24> uar_page{};
  static constexpr Field<Cqc, 132, 12> cq_period{};
  static constexpr Field<Cqc, 144, 16> cq_max_count{};
  static constexpr Field<Cqc, 184, 8> c_eqn{};  // number of the event queue
  static constexpr Field<Cqc, 195, 5> log_page_size{};
  static constexpr Field<Cqc, 264, 24> last_notified_index{};
  static constexpr Field<Cqc, 296, 24> last_solicit_index{};
  static constexpr Field<Cqc, 328, 24> consumer_counter{};
  static constexpr Field<Cqc, 360, 24> producer_counter{};
  static constexpr Field<Cqc, 448, 64> dbr_addr{};  // of the record; with a umem the offset there
};

struct CreateCqIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<CreateCqIn, Cqc, 128> cqc{};
  static constexpr Field<CreateCqIn, 640, 64> cq_umem_offset{};
  static constexpr Field<CreateCqIn, 704, 32> cq_umem_id{};
  static constexpr Field<CreateCqIn, 736, 1> cq_umem_valid{};
};

struct CreateCqOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateCqOut, 72, 24> cqn{};
};

struct DestroyCqIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyCqIn, 72, 24> cqn{};
};

using QueryCqIn = DestroyCqIn;

// Bits of ModifyCqIn's field select where op_mod is 0.
inline constexpr std::uint64_t kCqPeriodField = 1, kCqMaxCountField = 2;

struct ModifyCqIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<ModifyCqIn, 72, 24> cqn{};
  static constexpr Field<ModifyCqIn, 96, 32> modify_field_select_resize_field_select{};
  static constexpr Part<ModifyCqIn, Cqc, 128> cq_context{};
};

struct QueryCqOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Part<QueryCqOut, Cqc, 128> cq_context{};
};

}  // namespace gdakit::format::prm
